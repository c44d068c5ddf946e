#include "translate/message/guarded_values.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "google/protobuf/descriptor.h"

namespace stampgate {
namespace {

using google::protobuf::FieldDescriptor;

std::string TextOf(const FieldPlan& field, const FieldValue& value) {
  if (field.field->type() == FieldDescriptor::TYPE_STRING) return std::string(value.text());
  if (field.form != JsonForm::kEnum) return "";
  const int number = static_cast<int>(value.number());
  const auto& numbers = field.values->numbers;
  const auto text = absl::c_find_if(numbers, [number](const auto& each) { return each.second == number; });
  return text == numbers.end() ? "" : text->first;
}

// Whether two texts state the same. Contracts and export keys are written in hex.
bool AreEqual(v1::FieldGuard guard, const std::string& a, const std::string& b) {
  const bool is_hex = guard == v1::FIELD_GUARD_CONTRACT || guard == v1::FIELD_GUARD_EXPORT_KEY;
  return a == b || (is_hex && absl::AsciiStrToLower(a) == absl::AsciiStrToLower(b));
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
    const StatedValue* first = nullptr;
    const std::vector<StatedValue> stated = StatedValues(message, guard);
    for (const StatedValue& each : stated) {
      if (each.field->field->is_repeated()) continue;
      if (first == nullptr) first = &each;
      if (!AreEqual(guard, first->text, each.text)) return std::pair(first->field, each.field);
    }
  }
  return std::nullopt;
}

}  // namespace stampgate
