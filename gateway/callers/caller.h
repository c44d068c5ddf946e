// A caller: how it is identified, and what its grants allow.
#ifndef STAMPGATE_GATEWAY_CALLERS_CALLER_H_
#define STAMPGATE_GATEWAY_CALLERS_CALLER_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gateway/policy/grant.h"
#include "gateway/policy/organization_set.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Immutable.
class Caller {
 public:
  // Requires that `caller` comes from a validated config. Its grants are for methods of `operations`.
  // `class_grants_as_of` is the setting of the config, as for Grant. `of_files` has the ids in the organizations files
  // of the grants, in the order of the grants.
  Caller(const config::v1::Caller& caller, const OperationSet& operations, absl::string_view class_grants_as_of = "",
         const std::vector<std::shared_ptr<const OrganizationIds>>& of_files = {});

  const std::string& name() const { return name_; }
  // The caller's weight against other callers when their calls wait for upstream; more than 0.
  double weight() const { return weight_; }

  // Whether the caller must send a token.
  bool wants_token() const { return !token_digests_.empty() || has_token_; }
  // Whether `digest` is the SHA-256 of one of this caller's tokens. Takes the same time for every digest.
  bool HasToken(const std::array<uint8_t, 32>& digest) const;
  // Whether JSON Web Tokens with this issuer and subject belong to this caller. `issuer` is the issuer's name in the
  // config.
  bool HasSubject(absl::string_view issuer, absl::string_view subject) const;

  struct Decision {
    bool allowed = false;
    std::string key;  // if allowed: the name of the key that signs; if empty, KeyRing::Find chooses the key
    std::string why;  // if denied: the reason, for the operator; names rules and fields, never a value
    Grant::Fit closest = Grant::Fit::kNotTheMethod;  // if denied: the answer of the grant that comes closest
  };

  // Decides by the grants whether the call of `question` is allowed. The first grant that allows the call determines
  // the key.
  Decision Decide(const Question& question) const;

  // Returns a clause that states what the grants lack to allow `method`: its name, its class, or a day from which on
  // the class covers it. Names no organization. Requires that no grant allows `method`.
  std::string ExplainMissing(const ApiMethod& method) const;

  // Whether any grant lists an operation of GeneralService.
  bool has_general_operations() const { return has_general_operations_; }

  // Returns the organizations for which any grant allows `method`. The set is empty if no grant allows `method`, or if
  // `method` is not local. The reference is valid as long as this caller.
  const OrganizationSet& OrganizationsOf(absl::string_view method) const;

 private:
  const std::string name_;
  const double weight_;
  const std::string token_issuer_;  // the issuer's name in the config
  const std::vector<std::string> token_subjects_;
  const bool has_token_;
  const std::string class_grants_as_of_;
  bool has_general_operations_ = false;
  std::vector<std::array<uint8_t, 32>> token_digests_;
  std::vector<Grant> grants_;
  // For each local method, the organizations for which a grant allows the method.
  std::map<std::string, OrganizationSet, std::less<>> local_organizations_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_CALLER_H_
