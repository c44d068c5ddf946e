// One grant of the policy, prepared for decisions: its methods, organizations, key and value rules.
#ifndef STAMPGATE_GATEWAY_POLICY_GRANT_H_
#define STAMPGATE_GATEWAY_POLICY_GRANT_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gateway/policy/guard_rules.h"
#include "gateway/policy/organization_set.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/message/parsed_message.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// What a call asks the policy. The objects to which a question refers must outlive the question.
struct Question {
  absl::string_view method;  // "/stampgate.v1.PolicyService/GetPolicy"
  // The organization of the call, or nullopt if the call has no organization, such as a discovery.
  std::optional<absl::string_view> organization_id;
  // The request. If a client stamped the call, the request contains the values of the stamped body.
  const ParsedMessage* request = nullptr;
  // Whether this is a call of GeneralService. For such a call, `general_path` is the last segment of the path, and
  // `general_type` is the activity type, which is empty for a query.
  bool general = false;
  absl::string_view general_path = {};
  absl::string_view general_type = {};
  // Whether this is a submit that the gateway would stamp, and whose request sets no idempotency_key.
  bool lacks_key = false;
};

// Immutable.
class Grant {
 public:
  // Requires that `grant` comes from a checked config. `class_grants_as_of` is the setting of the config; if it is
  // empty, the classes of the grant cover only methods that have no day. `of_file` has the ids in the grant's
  // organizations_file, and is null if the grant has none.
  Grant(const config::v1::Grant& grant, const OperationSet& operations, absl::string_view class_grants_as_of = "",
        std::shared_ptr<const OrganizationIds> of_file = nullptr);

  // The first check of the grant that the question fails, or kAllowed if the question passes all checks. The values are
  // in the order of the checks.
  enum class Fit { kNotTheMethod, kNotTheOrganization, kNotTheValues, kNoKey, kAllowed };

  struct Answer {
    Fit fit = Fit::kNotTheMethod;
    // Set for kNotTheValues and kNoKey: names the rule that refuses, and its field if there is one, but no value.
    std::string why;
  };

  Answer Ask(const Question& question) const;

  // Whether this grant allows `method` for some organization. `method` must not be a method of GeneralService.
  bool HasMethod(absl::string_view method) const { return methods_.contains(method); }

  // Whether this grant has the class of `method`. The class need not cover the method.
  bool HasClassOf(const ApiMethod& method) const { return classes_.contains(method.policy_class); }

  const OrganizationSet& organizations() const { return organizations_; }

  // Returns the name of the key that signs. If the name is empty, KeyRing::Find chooses the key by the organization.
  const std::string& key() const { return key_; }

 private:
  void Add(const ApiMethod& method, const config::v1::Grant& grant);

  std::set<int> classes_;
  std::set<std::string, std::less<>> methods_;  // the full names of the granted methods
  // The methods that are not granted only because a rule of the grant cannot be checked for them: the name of this
  // rule, by the full name of the method.
  std::map<std::string, absl::string_view, std::less<>> unchecked_;
  std::set<std::pair<std::string, std::string>> general_;  // the path and the type of each granted general operation
  OrganizationSet organizations_;
  std::string key_;
  bool requires_idempotency_key_;
  GuardRules rules_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_POLICY_GRANT_H_
