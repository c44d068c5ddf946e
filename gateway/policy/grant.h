// One grant of the policy, prepared for decisions: its methods, organizations, key and value rules.
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

// What a call asks the policy. The objects to which a question refers outlive it.
struct Question {
  absl::string_view method;  // "/stampgate.v1.PolicyService/GetPolicy"
  // The organization of the call; nullopt for a call without an organization, such as a discovery.
  std::optional<absl::string_view> organization_id;
  // The decoded request. If a client stamped the call, it has the values of the stamped body.
  const google::protobuf::Message* request = nullptr;
  const MessagePlan* plan = nullptr;  // the plan of `request`; null only if `request` is null
  // For a call of GeneralService: the last segment of the path, and the activity type, which is empty for a query.
  bool general = false;
  absl::string_view general_path = {};
  absl::string_view general_type = {};
};

// Immutable.
class Grant {
 public:
  // `grant` must come from a checked config. Its `organizations` must already contain the ids of its
  // organizations_file.
  explicit Grant(const config::v1::Grant& grant);

  // The check of a grant that a question fails, in the order of the checks, or kAllowed if the question passes all.
  enum class Fit { kNotTheMethod, kNotTheOrganization, kNotTheValues, kAllowed };

  struct Answer {
    Fit fit = Fit::kNotTheMethod;
    std::string why;  // for kNotTheValues: names the field and the rule, never a value
  };

  Answer Ask(const Question& question) const;

  // Whether this grants `method` for some organization. `method` must not be a method of GeneralService.
  bool HasMethod(absl::string_view method) const { return methods_.contains(method); }

  // Never null.
  const std::shared_ptr<const OrganizationSet>& organizations() const { return organizations_; }

  // The name of the key that signs. If empty, the organization's own key signs.
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
