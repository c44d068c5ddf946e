// One grant of the policy, compiled: methods, for organizations, with a key, under rules.
#ifndef STAMPGATE_GATEWAY_POLICY_GRANT_H_
#define STAMPGATE_GATEWAY_POLICY_GRANT_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gateway/policy/guard_rules.h"
#include "gateway/policy/organization_set.h"
#include "google/protobuf/message.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/message_plan.h"

namespace stampgate {

// What a caller wants to do. What it refers to outlives it.
struct Question {
  absl::string_view method;  // "/stampgate.v1.PolicyService/GetPolicy"
  // The organization that the call is for; nothing if it is for none, as discovery is.
  std::optional<absl::string_view> organization_id;
  // The decoded request: of a call with a client's stamp, what the stamped body says.
  const google::protobuf::Message* request = nullptr;
  const MessagePlan* plan = nullptr;  // of the request; not null if that is not
  // Of GeneralService: the path's last segment and the activity type, empty for a query.
  bool general = false;
  absl::string_view general_path = {};
  absl::string_view general_type = {};
};

// Immutable.
class Grant {
 public:
  // `grant` is one of a checked config: its `organizations` are those of its file too.
  explicit Grant(const config::v1::Grant& grant);

  // How far a grant fits a question, in the order in which it is looked at.
  enum class Fit { kNotTheMethod, kNotTheOrganization, kNotTheValues, kAllowed };

  struct Answer {
    Fit fit = Fit::kNotTheMethod;
    std::string why;  // of kNotTheValues: the field and the rule, never a value
  };

  Answer Ask(const Question& question) const;

  // Whether it grants `method`, which is not general, for some organization.
  bool HasMethod(absl::string_view method) const { return methods_.contains(method); }

  // Never null.
  const std::shared_ptr<const OrganizationSet>& organizations() const { return organizations_; }

  // Name of the key that signs; empty: the organization's own.
  const std::string& key() const { return key_; }

 private:
  std::set<std::string, std::less<>> methods_;             // by their full names
  std::set<std::pair<std::string, std::string>> general_;  // path and type
  std::shared_ptr<const OrganizationSet> organizations_;
  std::string key_;
  GuardRules rules_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_GRANT_H_
