// JSON Web Tokens of several issuers.
#ifndef STAMPGATE_GATEWAY_TOKENS_ISSUERS_H_
#define STAMPGATE_GATEWAY_TOKENS_ISSUERS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gateway/tokens/keys.h"
#include "gateway/tokens/verifier.h"

namespace stampgate {

// What is configured of an issuer.
struct TokenIssuerRule {
  std::string name;
  std::string issuer;  // the claim "iss"; no two have the same
  std::vector<std::string> audiences;
  std::shared_ptr<TokenKeys> keys;
};

// A token says itself whose it is; that only chooses whose keys it must be signed with.
class TokenIssuers : public TokenVerifier {
 public:
  // `now` is called by any thread, also after the verifier has gone.
  TokenIssuers(std::vector<TokenIssuerRule> rules, std::function<absl::Time()> now);

  void Verify(absl::string_view token, absl::AnyInvocable<void(absl::StatusOr<VerifiedToken>)> done) override;

 private:
  // Shared with the calls that wait for keys.
  const std::shared_ptr<const std::vector<TokenIssuerRule>> rules_;
  const std::function<absl::Time()> now_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_ISSUERS_H_
