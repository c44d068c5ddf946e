#include "translate/message/guarded_values.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "google/protobuf/descriptor.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;

absl::string_view TextOf(const FieldPlan& field, const FieldValue& value) {
  if (field.field->type() == FieldDescriptor::TYPE_STRING) return value.text();
  if (field.form != JsonForm::kEnum) return "";
  const int number = static_cast<int>(value.number());
  const auto& numbers = field.values->numbers;
  const auto text = absl::c_find_if(numbers, [number](const auto& each) { return each.second == number; });
  return text == numbers.end() ? absl::string_view() : text->first;
}

// Whether two texts state the same. Contracts and export keys are written in hex.
bool AreEqual(v1::FieldGuard guard, absl::string_view a, absl::string_view b) {
  const bool is_hex = guard == v1::FIELD_GUARD_CONTRACT || guard == v1::FIELD_GUARD_EXPORT_KEY;
  return a == b || (is_hex && absl::EqualsIgnoreCase(a, b));
}

}  // namespace

std::vector<StatedValue> StatedValues(const ParsedMessage& message, v1::FieldGuard guard) {
  std::vector<StatedValue> stated;
  for (const FieldPlan& field : message.plan().fields) {
    if (field.guard != guard) continue;
    for (const FieldValue& value : message.Values(field)) stated.push_back({&field, TextOf(field, value)});
  }
  return stated;
}

std::optional<std::pair<const FieldPlan*, const FieldPlan*>> FindContradiction(const ParsedMessage& message) {
  for (const v1::FieldGuard guard : message.plan().shared_guards) {
    std::optional<StatedValue> first;
    for (const FieldPlan& field : message.plan().fields) {
      if (field.guard != guard || field.is_list || !message.Has(field)) continue;
      const StatedValue each{&field, TextOf(field, message.Values(field).front())};
      if (!first.has_value()) first = each;
      if (!AreEqual(guard, first->text, each.text)) return std::pair(first->field, each.field);
    }
  }
  return std::nullopt;
}

}  // namespace stampgate
