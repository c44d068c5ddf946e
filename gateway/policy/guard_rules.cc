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
#include "translate/message/guarded_values.h"
#include "translate/operation_set/nested_messages.h"
#include "translate/operation_set/unreviewed.h"

namespace stampgate {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// The most pairs of a chain and a contract that a message may state under amount limits. Only lists can state many.
constexpr size_t kMaxPlaces = 1000;

// Returns the name of the first field with this guard, or nullopt if the message has no such field.
std::optional<std::string> FirstGuarded(const MessagePlan& plan, v1::FieldGuard guard) {
  const auto found = absl::c_find_if(plan.fields, [guard](const FieldPlan& field) { return field.guard == guard; });
  if (found == plan.fields.end()) return std::nullopt;
  return std::string(found->field->name());
}

// Whether `message` uses the dangerous field `field`. A bool that is not repeated is used if it is true. Any other
// field is used if it is set.
bool SaysSomething(const ParsedMessage& message, const FieldPlan& field) {
  if (field.form == JsonForm::kBool && !field.field->is_repeated()) return message.Number(field) != 0;
  return message.Has(field);
}

// Whether `number` is greater than `limit`. Both consist of decimal digits without leading zeros.
bool IsAbove(absl::string_view number, absl::string_view limit) {
  return number.size() != limit.size() ? number.size() > limit.size() : number > limit;
}

// Returns a text that is equal for texts of the same destination. The case of an address in hex is only a checksum.
std::string ComparedDestination(absl::string_view text) {
  return absl::StartsWith(text, "0x") ? absl::AsciiStrToLower(text) : std::string(text);
}

// Whether one of `messages` has a field with this guard.
bool HasGuard(const std::vector<const Descriptor*>& messages, v1::FieldGuard guard) {
  return absl::c_any_of(messages, [guard](const Descriptor* message) {
    for (int i = 0; i < message->field_count(); ++i) {
      if (GuardOf(*message->field(i)) == guard) return true;
    }
    return false;
  });
}

}  // namespace

bool IsDangerousField(const OperationSet& operations, absl::string_view name) {
  std::vector<const Descriptor*> requests;
  for (const ApiMethod& method : operations.methods()) requests.push_back(method.method->input_type());
  return absl::c_any_of(WithNestedMessages(std::move(requests)), [name = std::string(name)](const Descriptor* message) {
    const FieldDescriptor* field = message->FindFieldByName(name);
    return field != nullptr && GuardOf(*field) == v1::FIELD_GUARD_DANGEROUS;
  });
}

absl::string_view UncheckedRule(const config::v1::Grant& grant, const ApiMethod& method) {
  if (!grant.amount_limits().empty() && method.moves_unread_amount) return "amount_limits";
  if (grant.destinations().empty()) return "";
  const std::vector<const Descriptor*> messages = WithNestedMessages({method.method->input_type()});
  const bool moves = method.moves_unread_amount || HasGuard(messages, v1::FIELD_GUARD_AMOUNT);
  return moves && !HasGuard(messages, v1::FIELD_GUARD_DESTINATION) ? "destinations" : "";
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
      HasGuard(WithNestedMessages({request.plan().descriptor}), v1::FIELD_GUARD_DESTINATION)) {
    return "the request states none of destinations";
  }
  return std::nullopt;
}

std::optional<std::string> GuardRules::RefuseValues(const ParsedMessage& message, bool& states_destination) const {
  if (std::optional<std::string> why = RefuseAmounts(message)) return why;
  if (std::optional<std::string> why = RefuseExportKeys(message)) return why;
  if (std::optional<std::string> why = RefuseDestinations(message, states_destination)) return why;
  const bool limits_values = !amount_limits_.empty() || !export_keys_.empty() || !destinations_.empty();
  for (const FieldPlan& field : message.plan().fields) {
    const auto& name = field.field->name();
    if (limits_values && field.unreviewed && message.Has(field)) {
      return absl::StrCat(name, " is not reviewed: without a guard it needs a grant that limits no values");
    }
    if (field.guard == v1::FIELD_GUARD_DANGEROUS && SaysSomething(message, field) &&
        !dangerous_fields_.contains(name)) {
      return absl::StrCat(name, " needs a grant that names it");
    }
    if (field.form != JsonForm::kMessage) continue;
    for (const FieldValue& value : message.Values(field)) {
      if (std::optional<std::string> why = RefuseValues(value.message(), states_destination)) return why;
    }
  }
  return std::nullopt;
}

// Each value that the message states is checked against each chain and contract that it states: the gateway does not
// know which of them upstream uses.
std::optional<std::string> GuardRules::RefuseAmounts(const ParsedMessage& message) const {
  if (amount_limits_.empty()) return std::nullopt;
  const std::optional<std::string> name = FirstGuarded(message.plan(), v1::FIELD_GUARD_AMOUNT);
  if (!name.has_value()) return std::nullopt;
  const std::vector<StatedValue> amounts = StatedValues(message, v1::FIELD_GUARD_AMOUNT);
  if (amounts.empty()) return absl::StrCat(*name, " is not an amount");
  std::set<std::string> chains;
  for (const StatedValue& chain : StatedValues(message, v1::FIELD_GUARD_CHAIN)) chains.emplace(chain.text);
  std::set<std::string> contracts;
  for (const StatedValue& contract : StatedValues(message, v1::FIELD_GUARD_CONTRACT)) {
    contracts.insert(absl::AsciiStrToLower(contract.text));
  }
  if (contracts.empty()) contracts.insert("");
  const bool is_checkable = !chains.empty() && chains.size() <= kMaxPlaces / contracts.size();
  for (const StatedValue& amount : amounts) {
    if (!IsAmount(amount.text)) return absl::StrCat(amount.field->field->name(), " is not an amount");
    const bool is_within = is_checkable && absl::c_all_of(chains, [&](const std::string& chain) {
                             return absl::c_all_of(contracts, [&](const std::string& contract) {
                               return AllowsAmount(chain, contract, amount.text);
                             });
                           });
    if (!is_within) return absl::StrCat(amount.field->field->name(), " is not within amount_limits");
  }
  return std::nullopt;
}

std::optional<std::string> GuardRules::RefuseExportKeys(const ParsedMessage& message) const {
  if (export_keys_.empty()) return std::nullopt;
  const std::optional<std::string> name = FirstGuarded(message.plan(), v1::FIELD_GUARD_EXPORT_KEY);
  if (!name.has_value()) return std::nullopt;
  const std::vector<StatedValue> keys = StatedValues(message, v1::FIELD_GUARD_EXPORT_KEY);
  if (keys.empty()) return absl::StrCat(*name, " is not one of export_public_keys");
  for (const StatedValue& each : keys) {
    const std::optional<std::string> key = DecodeExportKey(each.text);
    if (!key.has_value() || !export_keys_.contains(*key)) {
      return absl::StrCat(each.field->field->name(), " is not one of export_public_keys");
    }
  }
  return std::nullopt;
}

std::optional<std::string> GuardRules::RefuseDestinations(const ParsedMessage& message,
                                                          bool& states_destination) const {
  if (destinations_.empty()) return std::nullopt;
  const std::optional<std::string> name = FirstGuarded(message.plan(), v1::FIELD_GUARD_DESTINATION);
  if (!name.has_value()) return std::nullopt;
  const std::vector<StatedValue> stated = StatedValues(message, v1::FIELD_GUARD_DESTINATION);
  if (stated.empty()) return absl::StrCat(*name, " is not one of destinations");
  // Several destinations need not be the same one, so upstream could choose one that is not set.
  for (const FieldPlan& field : message.plan().fields) {
    if (field.guard == v1::FIELD_GUARD_DESTINATION && field.required && !message.Has(field)) {
      return absl::StrCat(field.field->name(), " is not one of destinations");
    }
  }
  for (const StatedValue& each : stated) {
    if (!destinations_.contains(ComparedDestination(each.text))) {
      return absl::StrCat(each.field->field->name(), " is not one of destinations");
    }
  }
  states_destination = true;
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
