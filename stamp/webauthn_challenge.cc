#include "stamp/webauthn_challenge.h"

#include "stamp/secret/sha256.h"

namespace stampgate {

std::string WebAuthnChallenge(absl::string_view body) { return HexSha256(body); }

}  // namespace stampgate
