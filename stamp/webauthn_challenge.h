// The challenge that a passkey signs to stamp a request.
#ifndef STAMPGATE_STAMP_WEBAUTHN_CHALLENGE_H_
#define STAMPGATE_STAMP_WEBAUTHN_CHALLENGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// The lower-case hex SHA-256 of the exact body bytes. The WebAuthn challenge is these 64 characters as bytes.
std::string WebAuthnChallenge(absl::string_view body);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_WEBAUTHN_CHALLENGE_H_
