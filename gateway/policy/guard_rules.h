// Checks the values of a request's guarded fields against the rules of a grant.
#ifndef STAMPGATE_GATEWAY_POLICY_GUARD_RULES_H_
#define STAMPGATE_GATEWAY_POLICY_GUARD_RULES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/message/parsed_message.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Whether any operation has a request that contains, at any depth, a dangerous field called `name`. A call may use a
// dangerous field only if a grant names the field.
bool IsDangerousField(const OperationSet& operations, absl::string_view name);

// Returns the name of a rule of `grant` that cannot be checked for `method`, because the method can move assets and no
// field of its request states the value that the rule limits. Returns an empty text if there is no such rule.
absl::string_view UncheckedRule(const config::v1::Grant& grant, const ApiMethod& method);

// The value rules of one grant. Immutable. The option `guard` of a field (FieldGuard in options.proto) states which
// rule applies to the field.
class GuardRules {
 public:
  // Requires that `grant` comes from a checked config.
  explicit GuardRules(const config::v1::Grant& grant);

  // Checks the values of `request` at any depth: of several fields with the same guard, each that is set. If a grant
  // limits amounts, export keys or destinations, also refuses each field that nobody has reviewed. Returns nullopt if
  // the rules allow all values. Otherwise returns a text that names the field and the rule that refuses, but never the
  // value. If a rule cannot be evaluated, it refuses.
  std::optional<std::string> Refuse(const ParsedMessage& request) const;

 private:
  struct AmountLimit {
    std::string chain;
    std::string contract;    // in lower case; if empty, the limit applies to every contract
    std::string max_amount;  // decimal digits; if empty, every amount is allowed, even "MAX"
  };

  // Checks the values of `message` at any depth. Sets `states_destination` if one of its messages states a destination.
  std::optional<std::string> RefuseValues(const ParsedMessage& message, bool& states_destination) const;
  // Check the values that `message` itself states.
  std::optional<std::string> RefuseAmounts(const ParsedMessage& message) const;
  std::optional<std::string> RefuseExportKeys(const ParsedMessage& message) const;
  std::optional<std::string> RefuseDestinations(const ParsedMessage& message, bool& states_destination) const;
  bool AllowsAmount(absl::string_view chain, absl::string_view contract, absl::string_view amount) const;

  std::vector<AmountLimit> amount_limits_;
  std::set<std::string, std::less<>> dangerous_fields_;
  std::set<std::string, std::less<>> export_keys_;   // the allowed keys, in the form that DecodeExportKey returns
  std::set<std::string, std::less<>> destinations_;  // in the form in which they compare
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_GUARD_RULES_H_
