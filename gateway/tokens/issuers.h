// Verifies JSON Web Tokens of several issuers.
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

// An issuer that the config lists, with its keys.
struct TokenIssuerRule {
  std::string name;
  std::string issuer;  // the claim "iss" of this issuer's tokens; different for each issuer
  std::vector<std::string> audiences;
  std::shared_ptr<TokenKeys> keys;
};

// Verifies each token with the keys of the issuer that the token names in its claim "iss".
class TokenIssuers : public TokenVerifier {
 public:
  // Requires that any thread can call `now`, even after this object is destroyed.
  TokenIssuers(std::vector<TokenIssuerRule> rules, std::function<absl::Time()> now);

  void Verify(absl::string_view token, absl::AnyInvocable<void(absl::StatusOr<VerifiedToken>)> done) override;

 private:
  // Each call of Verify that waits for keys also owns the rules.
  const std::shared_ptr<const std::vector<TokenIssuerRule>> rules_;
  const std::function<absl::Time()> now_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_ISSUERS_H_
