// What a grant says about the values of a request's guarded fields.
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

// Whether a request has, at any depth, a field of this name that needs a grant which names it.
bool IsDangerousField(absl::string_view name);

// Immutable. Which fields are guarded, and how, is an option of the field (FieldGuard in options.proto).
class GuardRules {
 public:
  // `grant` is one of a checked config.
  explicit GuardRules(const config::v1::Grant& grant);

  // Why the values of `request`, at any depth, are not allowed: the field and the rule, never a value. Nothing if they
  // are. A rule that cannot be evaluated refuses. `plan` is that of the message.
  std::optional<std::string> Refuse(const google::protobuf::Message& request, const MessagePlan& plan) const;

 private:
  struct AmountLimit {
    std::string chain;
    std::string contract;    // in lower case; empty: any
    std::string max_amount;  // decimal digits; empty: any amount, "MAX" too
  };

  std::optional<std::string> RefuseAmount(const google::protobuf::Message& message, const MessagePlan& plan) const;
  bool AllowsAmount(absl::string_view chain, absl::string_view contract, absl::string_view amount) const;

  std::vector<AmountLimit> amount_limits_;
  std::set<std::string, std::less<>> dangerous_fields_;
  std::set<std::string, std::less<>> export_keys_;  // as DecodeExportKey gives them
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_GUARD_RULES_H_
