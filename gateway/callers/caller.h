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

namespace stampgate {

// Immutable.
class Caller {
 public:
  // `caller` must come from a validated config.
  explicit Caller(const config::v1::Caller& caller);

  const std::string& name() const { return name_; }

  // Whether the caller must send a token.
  bool wants_token() const { return !token_digests_.empty() || has_token_; }
  // Whether `digest`, the SHA-256 of a token, is one of this caller's. The time does not depend on the digest.
  bool HasToken(const std::array<uint8_t, 32>& digest) const;
  // Whether this caller owns JSON Web Tokens of this issuer (its name in the config) and subject.
  bool HasSubject(absl::string_view issuer, absl::string_view subject) const;

  struct Decision {
    bool allowed = false;
    std::string
        key;  // from the grant that allows: the name of the key that signs; empty means the organization's default key
    std::string why;  // why a denial was made, for the operator: names rules and fields, never a value
  };

  // Decides a question by the grants. The first grant that allows it determines the key.
  Decision Decide(const Question& question) const;

  // Whether a grant allows any operation of GeneralService.
  bool has_general_operations() const { return has_general_operations_; }

  // The organizations for which any grant allows `method`, which must be of class events; empty if no grant does, and
  // for other methods. Valid as long as this.
  const OrganizationSet& OrganizationsOf(absl::string_view method) const;

 private:
  const std::string name_;
  const std::string token_issuer_;  // its name in the config
  const std::vector<std::string> token_subjects_;
  const bool has_token_;
  bool has_general_operations_ = false;
  std::vector<std::array<uint8_t, 32>> token_digests_;
  std::vector<Grant> grants_;
  // By method. A set may be that of a grant.
  std::map<std::string, std::shared_ptr<const OrganizationSet>, std::less<>> event_organizations_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_CALLER_H_
