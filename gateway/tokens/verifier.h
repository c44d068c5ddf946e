// JSON Web Tokens of the configured issuers.
#ifndef STAMPGATE_GATEWAY_TOKENS_VERIFIER_H_
#define STAMPGATE_GATEWAY_TOKENS_VERIFIER_H_

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

// What a genuine token says.
struct VerifiedToken {
  std::string issuer;   // its name in the config
  std::string subject;  // the claim "sub"
  absl::Time until;     // from then on it is refused: the claim "exp" and the leeway
};

// Thread-safe.
class TokenVerifier {
 public:
  virtual ~TokenVerifier() = default;

  // Checks a token: form, algorithm, signature, issuer, audience and times. Calls `done` once: at once, or on another
  // thread if the issuer's keys have to be fetched. Errors: kUnauthenticated, naming the rule and nothing of the token;
  // kUnavailable if the keys are not available.
  virtual void Verify(absl::string_view token, absl::AnyInvocable<void(absl::StatusOr<VerifiedToken>)> done) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_VERIFIER_H_
