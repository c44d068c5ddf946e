#include "translate/operation_set/looser_rule.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "translate/message/plan.h"
#include "translate/operation_set/nested_messages.h"

namespace stampgate {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

namespace {

bool KeepsItsRule(const FieldDescriptor& field, const v1::FieldRule& rule) {
  const bool has_guard = rule.guard() != v1::FIELD_GUARD_UNSPECIFIED && rule.guard() != v1::FIELD_GUARD_NONE;
  return has_guard || rule.role() != v1::FIELD_ROLE_UNSPECIFIED || field.name() == "organization_id" ||
         field.message_type() != nullptr;
}

bool IsText(const FieldDescriptor& field, const v1::FieldRule& rule) {
  const bool has_length = field.type() == FieldDescriptor::TYPE_STRING || field.type() == FieldDescriptor::TYPE_BYTES;
  return has_length && rule.text_form() == v1::TEXT_FORM_UNSPECIFIED;
}

}  // namespace

bool IsLaterRelease(const OperationSet& base, const OperationSet& added) {
  const OperationSet& program = base.origin();
  return added.newest_since() > program.newest_since() &&
         absl::c_all_of(program.methods(),
                        [&](const ApiMethod& method) { return added.FindMethod(method.full_name) != nullptr; });
}

absl::flat_hash_set<const Descriptor*> MessagesOfTheGateway(const OperationSet& base) {
  std::vector<const Descriptor*> requests;
  for (const std::string& name : base.services()) {
    const auto& service = *base.pool().FindServiceByName(name);
    for (int i = 0; i < service.method_count(); ++i) {
      const v1::OperationRule& rule = service.method(i)->options().GetExtension(v1::operation);
      const bool is_sent = rule.kind() != v1::OPERATION_KIND_UNSPECIFIED && rule.kind() != v1::OPERATION_KIND_LOCAL;
      if (!is_sent || rule.general()) requests.push_back(service.method(i)->input_type());
    }
  }
  const std::vector<const Descriptor*> messages = WithNestedMessages(std::move(requests));
  return {messages.begin(), messages.end()};
}

v1::FieldRule LooserRule(const FieldDescriptor& base, const FieldDescriptor& added) {
  v1::FieldRule rule = base.options().GetExtension(v1::field);
  if (KeepsItsRule(base, rule)) return rule;
  const v1::FieldRule& other = added.options().GetExtension(v1::field);

  const bool is_single_text = IsText(base, rule) && !base.is_repeated();
  if (rule.required() && !rule.may_be_empty() && !base.is_repeated() && !other.required()) {
    rule.clear_required();
  } else if (rule.required() && other.may_be_empty() && is_single_text) {
    rule.set_may_be_empty(true);
  }
  if (rule.has_minimum() && other.has_minimum()) rule.set_minimum(std::min(rule.minimum(), other.minimum()));
  if (rule.has_maximum() && other.has_maximum()) rule.set_maximum(std::max(rule.maximum(), other.maximum()));
  if (rule.has_max_bytes() && other.has_max_bytes()) {
    rule.set_max_bytes(std::max(rule.max_bytes(), other.max_bytes()));
  }
  if (rule.has_max_characters() && other.has_max_characters()) {
    rule.set_max_characters(std::max(rule.max_characters(), other.max_characters()));
  }
  if (rule.has_min_elements() && other.has_min_elements()) {
    rule.set_min_elements(std::min(rule.min_elements(), other.min_elements()));
  }
  if (rule.has_max_elements() && other.has_max_elements()) {
    rule.set_max_elements(std::max(rule.max_elements(), std::min(other.max_elements(), kMaxElements)));
  }
  return rule;
}

}  // namespace stampgate
