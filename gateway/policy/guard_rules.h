// Checks the values of a request's guarded fields against the rules of a grant.
#ifndef STAMPGATE_GATEWAY_POLICY_GUARD_RULES_H_
#define STAMPGATE_GATEWAY_POLICY_GUARD_RULES_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/message_plan.h"

namespace stampgate {

// Whether the request of any operation has, at any depth, a dangerous field called `name`. A call may use a dangerous
// field only if a grant names the field.
bool IsDangerousField(absl::string_view name);

// The value rules of one grant. Immutable. The option FieldGuard (options.proto) of a field defines how it is guarded.
class GuardRules {
 public:
  // `grant` must come from a checked config.
  explicit GuardRules(const config::v1::Grant& grant);

  // Returns why the rules refuse the values of `request`, at any depth, or nullopt if they allow them. The text names
  // the field and the rule, never a value. A rule that cannot be evaluated refuses. `plan` is the plan of `request`.
  std::optional<std::string> Refuse(const google::protobuf::Message& request, const MessagePlan& plan) const;

 private:
  struct AmountLimit {
    std::string chain;
    std::string contract;    // in lower case; if empty, any contract
    std::string max_amount;  // decimal digits; if empty, any amount, also "MAX"
  };

  std::optional<std::string> RefuseAmount(const google::protobuf::Message& message, const MessagePlan& plan) const;
  bool AllowsAmount(absl::string_view chain, absl::string_view contract, absl::string_view amount) const;

  std::vector<AmountLimit> amount_limits_;
  std::set<std::string, std::less<>> dangerous_fields_;
  std::set<std::string, std::less<>> export_keys_;  // in the form that DecodeExportKey returns
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_GUARD_RULES_H_
