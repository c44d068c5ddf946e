// Verifies JSON Web Tokens of the issuers that the config lists.
#ifndef STAMPGATE_GATEWAY_TOKENS_VERIFIER_H_
#define STAMPGATE_GATEWAY_TOKENS_VERIFIER_H_

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace stampgate {

// The content of a verified token.
struct VerifiedToken {
  std::string issuer;   // the issuer's name in the config
  std::string subject;  // the claim "sub"
  absl::Time until;     // when the token becomes invalid: the claim "exp" plus kTokenLeeway
};

// Thread-safe.
class TokenVerifier {
 public:
  virtual ~TokenVerifier() = default;

  // Checks the form, algorithm, signature, issuer, audience and times of a token. Calls `done` once. If the issuer's
  // keys must be fetched first, another thread calls `done`. Otherwise Verify calls `done` before it returns. Errors:
  // kUnauthenticated, with a message that names the broken rule and quotes no part of the token; kUnavailable if the
  // issuer's keys are not available.
  virtual void Verify(absl::string_view token, absl::AnyInvocable<void(absl::StatusOr<VerifiedToken>)> done) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_VERIFIER_H_
