#include "gateway/events/field_finder.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace stampgate {

const MessagePlan* FieldFinder::Plan(const std::string& message) {
  const google::protobuf::Descriptor* descriptor = pool_.FindMessageTypeByName(absl::StrCat("stampgate.v1.", message));
  if (descriptor == nullptr) {
    Fail(absl::FailedPreconditionError(absl::StrCat("the protos have no message stampgate.v1.", message)));
    return nullptr;
  }
  const absl::StatusOr<const MessagePlan*> plan = plans_.Compile(descriptor);
  Fail(plan.status());
  return plan.value_or(nullptr);
}

const FieldPlan* FieldFinder::Optional(const MessagePlan* plan, absl::string_view name, JsonForm form) {
  const FieldPlan* field = One(plan, name, form);
  if (field == nullptr || field->field->has_presence()) return field;
  FailToFind(*plan, name);
  return nullptr;
}

const FieldPlan* FieldFinder::Find(const MessagePlan* plan, absl::string_view name, JsonForm form, bool is_list) {
  if (plan == nullptr) return nullptr;
  const FieldPlan* field = plan->Find(name);
  if (field != nullptr && field->form == form && field->field->is_repeated() == is_list) return field;
  FailToFind(*plan, name);
  return nullptr;
}

void FieldFinder::FailToFind(const MessagePlan& plan, absl::string_view name) {
  Fail(absl::FailedPreconditionError(absl::StrCat(plan.descriptor->full_name(), " does not have a field \"", name,
                                                  "\" of the form that the program needs")));
}

}  // namespace stampgate
