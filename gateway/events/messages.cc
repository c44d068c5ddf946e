#include "gateway/events/messages.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "translate/wire/field_numbers.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

absl::StatusOr<const MessagePlan*> Compile(const DescriptorPool& pool, const std::string& message,
                                           MessagePlans& plans) {
  const Descriptor* descriptor = pool.FindMessageTypeByName(absl::StrCat("stampgate.v1.", message));
  if (descriptor == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("the protos have no message stampgate.v1.", message));
  }
  return plans.Compile(descriptor);
}

// Finds fields that the calls read.
class Finder {
 public:
  const FieldPlan* One(const MessagePlan& plan, absl::string_view name, JsonForm form) {
    return Find(plan, name, form, /*is_list=*/false);
  }
  const FieldPlan* List(const MessagePlan& plan, absl::string_view name, JsonForm form) {
    return Find(plan, name, form, /*is_list=*/true);
  }
  // The calls distinguish an absent value from an empty one.
  const FieldPlan* Optional(const MessagePlan& plan, absl::string_view name, JsonForm form) {
    const FieldPlan* field = One(plan, name, form);
    if (field != nullptr && !field->field->has_presence()) Fail(plan, name);
    return field;
  }

  const absl::Status& status() const { return status_; }

 private:
  const FieldPlan* Find(const MessagePlan& plan, absl::string_view name, JsonForm form, bool is_list) {
    const FieldPlan* field = plan.Find(name);
    if (field == nullptr || field->form != form || field->field->is_repeated() != is_list) Fail(plan, name);
    return field;
  }

  void Fail(const MessagePlan& plan, absl::string_view name) {
    if (!status_.ok()) return;
    status_ = absl::FailedPreconditionError(absl::StrCat(plan.descriptor->full_name(), " does not have a field \"",
                                                         name, "\" of the form that the program needs"));
  }

  absl::Status status_;
};

absl::Status FindFields(const MessagePlan& plan, StartFields& fields) {
  Finder finder;
  fields.plan = &plan;
  fields.cursor = finder.Optional(plan, "cursor", JsonForm::kString);
  fields.time = finder.Optional(plan, "time", JsonForm::kTimestamp);
  fields.end = finder.Optional(plan, "end", JsonForm::kEnum);
  fields.filter = finder.Optional(plan, "filter", JsonForm::kMessage);
  if (!finder.status().ok()) return finder.status();
  const google::protobuf::OneofDescriptor* start = fields.cursor->field->containing_oneof();
  if (fields.time->field->containing_oneof() != start || fields.end->field->containing_oneof() != start) {
    return absl::FailedPreconditionError(
        absl::StrCat("cursor, time and end of ", plan.descriptor->full_name(), " are not one oneof"));
  }
  fields.organization_ids = finder.List(*fields.filter->message, "organization_ids", JsonForm::kString);
  fields.types = finder.List(*fields.filter->message, "types", JsonForm::kString);
  return finder.status();
}

absl::Status FindFields(const MessagePlan& plan, NameFields& fields) {
  Finder finder;
  fields.plan = &plan;
  fields.event_id = finder.One(plan, "event_id", JsonForm::kString);
  fields.organization_id = finder.Optional(plan, "organization_id", JsonForm::kString);
  return finder.status();
}

// Compiles the plan of `message`, and finds its fields.
template <typename Fields>
absl::Status FindFields(const DescriptorPool& pool, const std::string& message, MessagePlans& plans, Fields& fields) {
  const absl::StatusOr<const MessagePlan*> plan = Compile(pool, message, plans);
  return plan.ok() ? FindFields(**plan, fields) : plan.status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const EventMessages>> EventMessages::Create(const DescriptorPool& pool,
                                                                           absl::string_view operator_name) {
  std::unique_ptr<EventMessages> found(new EventMessages(operator_name));
  EventMessages& messages = *found;
  for (const absl::Status& status :
       {FindFields(pool, "SubscribeRequest", messages.plans_, messages.subscribe_),
        FindFields(pool, "ListEventsRequest", messages.plans_, messages.list_events_),
        FindFields(pool, "GetEventRequest", messages.plans_, messages.get_event_),
        FindFields(pool, "ReadEventBodyRequest", messages.plans_, messages.read_event_body_)}) {
    if (!status.ok()) return status;
  }
  Finder finder;
  messages.page_size_ = finder.Optional(*messages.list_events_.plan, "page_size", JsonForm::kUint32);
  messages.offset_bytes_ = finder.One(*messages.read_event_body_.plan, "offset_bytes", JsonForm::kUint64);
  if (!finder.status().ok()) return finder.status();
  FieldNumbers numbers(pool);
  messages.chunk_ = numbers.One("stampgate.v1.ReadEventBodyResponse.chunk", FieldDescriptor::TYPE_BYTES);
  const int latest = numbers.EnumValue("stampgate.v1.LOG_END_LATEST");
  if (!numbers.status().ok()) return numbers.status();
  messages.subscribe_.latest = messages.list_events_.latest = static_cast<uint64_t>(latest);
  return std::unique_ptr<const EventMessages>(std::move(found));
}

}  // namespace stampgate
