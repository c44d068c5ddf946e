#include "translate/operation_set/difference.h"

#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "translate/operation_set/nested_messages.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::ServiceDescriptor;

// The messages and enums that calls use, by name.
struct Types {
  std::map<absl::string_view, const Descriptor*> messages;
  std::map<absl::string_view, const EnumDescriptor*> enums;
};

Types TypesOfCalls(const OperationSet& set) {
  std::vector<const Descriptor*> roots;
  for (const std::string& name : set.services()) {
    const ServiceDescriptor& service = *set.pool().FindServiceByName(name);
    for (int i = 0; i < service.method_count(); ++i) {
      roots.push_back(service.method(i)->input_type());
      roots.push_back(service.method(i)->output_type());
    }
  }
  Types types;
  for (const Descriptor* message : WithNestedMessages(std::move(roots))) {
    types.messages.emplace(message->full_name(), message);
    for (int i = 0; i < message->field_count(); ++i) {
      const EnumDescriptor* type = message->field(i)->enum_type();
      if (type != nullptr) types.enums.emplace(type->full_name(), type);
    }
  }
  return types;
}

// Returns what `after` accepts more than `before`: the changes that LooserRule makes.
std::vector<std::string> LooserMembers(const v1::FieldRule& before, const v1::FieldRule& after) {
  std::vector<std::string> changes;
  const auto add_limit = [&](absl::string_view name, uint64_t old_limit, uint64_t new_limit) {
    if (old_limit != new_limit) changes.push_back(absl::StrCat(name, " ", new_limit, ", before ", old_limit));
  };
  if (before.required() && !after.required()) changes.emplace_back("no longer required");
  if (!before.may_be_empty() && after.may_be_empty()) changes.emplace_back("may be empty");
  add_limit("minimum", before.minimum(), after.minimum());
  add_limit("maximum", before.maximum(), after.maximum());
  add_limit("max_bytes", before.max_bytes(), after.max_bytes());
  add_limit("max_characters", before.max_characters(), after.max_characters());
  add_limit("min_elements", before.min_elements(), after.min_elements());
  add_limit("max_elements", before.max_elements(), after.max_elements());
  return changes;
}

void CompareFields(const Descriptor& before, const Descriptor& after, Difference& difference) {
  for (int i = 0; i < after.field_count(); ++i) {
    const FieldDescriptor& field = *after.field(i);
    const FieldDescriptor* older = before.FindFieldByNumber(field.number());
    if (older == nullptr) {
      difference.fields.push_back(&field);
      continue;
    }
    std::vector<std::string> changes =
        LooserMembers(older->options().GetExtension(v1::field), field.options().GetExtension(v1::field));
    if (!changes.empty()) difference.looser_fields.push_back({&field, std::move(changes)});
  }
}

void CompareValues(const EnumDescriptor& before, const EnumDescriptor& after, Difference& difference) {
  for (int i = 0; i < after.value_count(); ++i) {
    if (before.FindValueByName(after.value(i)->name()) == nullptr) difference.values.push_back(after.value(i));
  }
}

}  // namespace

Difference FindDifference(const OperationSet& base, const OperationSet& merged) {
  Difference difference;
  for (const ApiMethod& method : merged.methods()) {
    const bool is_new = base.FindMethod(method.full_name) == nullptr;
    if (is_new && method.kind != v1::OPERATION_KIND_LOCAL) difference.operations.push_back(&method);
  }
  const Types types = TypesOfCalls(merged);
  for (const auto& [name, message] : types.messages) {
    const Descriptor* before = base.pool().FindMessageTypeByName(message->full_name());
    if (before != nullptr) CompareFields(*before, *message, difference);
  }
  for (const auto& [name, type] : types.enums) {
    const EnumDescriptor* before = base.pool().FindEnumTypeByName(type->full_name());
    if (before != nullptr) CompareValues(*before, *type, difference);
  }
  return difference;
}

}  // namespace stampgate
