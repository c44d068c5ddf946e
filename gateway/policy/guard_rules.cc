#include "gateway/policy/guard_rules.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gateway/policy/p256_point.h"
#include "google/protobuf/descriptor.h"
#include "stampgate/v1/options.pb.h"
#include "translate/amount.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Returns the only field that has this guard. Returns null if no field has the guard. Also returns null if several
// fields have it, because the gateway cannot know which of them upstream uses.
const FieldPlan* FindGuarded(const MessagePlan& plan, v1::FieldGuard guard) {
  const FieldPlan* found = nullptr;
  for (const FieldPlan& field : plan.fields) {
    if (field.guard != guard) continue;
    if (found != nullptr) return nullptr;
    found = &field;
  }
  return found;
}

// Whether `message` uses the dangerous field `field`. A bool that is not repeated is used if it is true. Any other
// field is used if it is set.
bool SaysSomething(const ParsedMessage& message, const FieldPlan& field) {
  if (field.form == JsonForm::kBool && !field.field->is_repeated()) return message.Number(field) != 0;
  return message.Has(field);
}

// Returns the text of a string field, or the text that an enum value has in upstream's JSON. Returns an empty text if
// there is no such text. An empty text is no valid amount, chain, key or destination.
std::string TextOf(const ParsedMessage& message, const FieldPlan* plan) {
  if (plan == nullptr || plan->field->is_repeated()) return "";
  if (plan->field->type() == FieldDescriptor::TYPE_STRING) return std::string(message.Text(*plan));
  if (plan->form != JsonForm::kEnum) return "";
  const int number = static_cast<int>(message.Number(*plan));
  const auto text = absl::c_find_if(plan->enum_numbers, [number](const auto& each) { return each.second == number; });
  return text == plan->enum_numbers.end() ? "" : text->first;
}

// Whether `number` is greater than `limit`. Both consist of decimal digits without leading zeros.
bool IsAbove(absl::string_view number, absl::string_view limit) {
  return number.size() != limit.size() ? number.size() > limit.size() : number > limit;
}

// Returns a text that is equal for texts of the same destination. The case of an address in hex is only a checksum.
std::string ComparedDestination(absl::string_view text) {
  return absl::StartsWith(text, "0x") ? absl::AsciiStrToLower(text) : std::string(text);
}

// Whether a message with this descriptor can contain, at any depth, a field with this guard.
bool CanContain(const Descriptor* descriptor, v1::FieldGuard guard, std::set<const Descriptor*>& visited) {
  if (!visited.insert(descriptor).second) return false;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->options().GetExtension(v1::field).guard() == guard) return true;
    if (field->message_type() != nullptr && CanContain(field->message_type(), guard, visited)) return true;
  }
  return false;
}

bool CanContain(const Descriptor* descriptor, v1::FieldGuard guard) {
  std::set<const Descriptor*> visited;
  return CanContain(descriptor, guard, visited);
}

void CollectDangerousFields(const Descriptor* descriptor, std::set<const Descriptor*>& visited,
                            std::set<std::string, std::less<>>& names) {
  if (!visited.insert(descriptor).second) return;
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const v1::FieldGuard guard = field->options().GetExtension(v1::field).guard();
    if (guard == v1::FIELD_GUARD_DANGEROUS) names.emplace(field->name());
    if (field->message_type() != nullptr) CollectDangerousFields(field->message_type(), visited, names);
  }
}

std::set<std::string, std::less<>> ListDangerousFields(const OperationSet& operations) {
  std::set<const Descriptor*> visited;
  std::set<std::string, std::less<>> names;
  for (const ApiMethod& method : operations.methods()) {
    CollectDangerousFields(method.method->input_type(), visited, names);
  }
  return names;
}

}  // namespace

bool IsDangerousField(const OperationSet& operations, absl::string_view name) {
  return ListDangerousFields(operations).contains(name);
}

absl::string_view UncheckedRule(const config::v1::Grant& grant, const ApiMethod& method) {
  if (!grant.amount_limits().empty() && method.moves_unread_amount) return "amount_limits";
  const Descriptor* request = method.method->input_type();
  if (!grant.destinations().empty() && (method.moves_unread_amount || CanContain(request, v1::FIELD_GUARD_AMOUNT)) &&
      !CanContain(request, v1::FIELD_GUARD_DESTINATION)) {
    return "destinations";
  }
  return "";
}

GuardRules::GuardRules(const config::v1::Grant& grant)
    : dangerous_fields_(grant.dangerous_fields().begin(), grant.dangerous_fields().end()) {
  for (const config::v1::AmountLimit& limit : grant.amount_limits()) {
    amount_limits_.push_back({limit.chain(), absl::AsciiStrToLower(limit.contract()), limit.max_amount()});
  }
  for (const std::string& key : grant.export_public_keys()) export_keys_.insert(DecodeExportKey(key).value_or(key));
  for (const std::string& text : grant.destinations()) destinations_.insert(ComparedDestination(text));
}

std::optional<std::string> GuardRules::Refuse(const ParsedMessage& request) const {
  bool states_destination = false;
  if (std::optional<std::string> why = RefuseValues(request, states_destination)) return why;
  // For example, the list of the messages with a destination is empty. It is not known what upstream does then.
  if (!destinations_.empty() && !states_destination &&
      CanContain(request.plan().descriptor, v1::FIELD_GUARD_DESTINATION)) {
    return "the request states none of destinations";
  }
  return std::nullopt;
}

std::optional<std::string> GuardRules::RefuseValues(const ParsedMessage& message, bool& states_destination) const {
  if (std::optional<std::string> why = RefuseAmount(message)) return why;
  for (const FieldPlan& field : message.plan().fields) {
    const auto& name = field.field->name();
    if (field.guard == v1::FIELD_GUARD_DANGEROUS && SaysSomething(message, field) &&
        !dangerous_fields_.contains(name)) {
      return absl::StrCat(name, " needs a grant that names it");
    }
    if (field.guard == v1::FIELD_GUARD_EXPORT_KEY && !export_keys_.empty()) {
      const std::optional<std::string> key = DecodeExportKey(TextOf(message, &field));
      if (!key.has_value() || !export_keys_.contains(*key)) {
        return absl::StrCat(name, " is not one of export_public_keys");
      }
    }
    if (field.guard == v1::FIELD_GUARD_DESTINATION && !destinations_.empty()) {
      if (!destinations_.contains(ComparedDestination(TextOf(message, &field)))) {
        return absl::StrCat(name, " is not one of destinations");
      }
      states_destination = true;
    }
    if (field.form != JsonForm::kMessage) continue;
    for (const FieldValue& value : message.Values(field)) {
      if (std::optional<std::string> why = RefuseValues(value.message(), states_destination)) return why;
    }
  }
  return std::nullopt;
}

std::optional<std::string> GuardRules::RefuseAmount(const ParsedMessage& message) const {
  if (amount_limits_.empty()) return std::nullopt;
  const MessagePlan& plan = message.plan();
  for (const FieldPlan& field : plan.fields) {
    if (field.guard != v1::FIELD_GUARD_AMOUNT) continue;
    const std::string amount = TextOf(message, &field);
    if (!IsAmount(amount)) return absl::StrCat(field.field->name(), " is not an amount");
    const std::string chain = TextOf(message, FindGuarded(plan, v1::FIELD_GUARD_CHAIN));
    const std::string contract = absl::AsciiStrToLower(TextOf(message, FindGuarded(plan, v1::FIELD_GUARD_CONTRACT)));
    if (!AllowsAmount(chain, contract, amount)) {
      return absl::StrCat(field.field->name(), " is not within amount_limits");
    }
  }
  return std::nullopt;
}

bool GuardRules::AllowsAmount(absl::string_view chain, absl::string_view contract, absl::string_view amount) const {
  if (chain.empty()) return false;
  return absl::c_any_of(amount_limits_, [&](const AmountLimit& limit) {
    return limit.chain == chain && (limit.contract.empty() || limit.contract == contract) &&
           (limit.max_amount.empty() || (amount != kWholeAmount && !IsAbove(amount, limit.max_amount)));
  });
}

}  // namespace stampgate
