// One who may call: how it is known, and what it may do.
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
  // `caller` is one of a checked config.
  explicit Caller(const config::v1::Caller& caller);

  const std::string& name() const { return name_; }

  // Whether the connection alone is not enough.
  bool wants_token() const { return !token_digests_.empty() || has_token_; }
  // Whether `digest`, the SHA-256 of a token, is one of this caller's. Takes the same time whatever the digest.
  bool HasToken(const std::array<uint8_t, 32>& digest) const;
  // Whether a JSON Web Token of that issuer (its name in the config) and subject is this caller's.
  bool HasSubject(absl::string_view issuer, absl::string_view subject) const;

  struct Decision {
    bool allowed = false;
    std::string key;  // of the grant that allows: the name of the key that signs, empty for the organization's own
    std::string why;  // of a denial, for the operator: names rules and fields, never a value
  };

  // Whether a grant allows what is asked. The first that does says with which key.
  Decision Decide(const Question& question) const;

  // Whether a grant allows any operation of GeneralService.
  bool has_general_operations() const { return has_general_operations_; }

  // The organizations for which any grant allows `method`, which is of class events. None if no grant does, and of
  // other methods. Valid as long as this.
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
