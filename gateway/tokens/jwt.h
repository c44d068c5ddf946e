// Parses JSON Web Tokens (RFC 7519, compact form) strictly. Does not check signatures.
//
// The gateway uses its own JSON reader and OpenSSL's signature functions instead of a library for tokens, because
// another program must not read the same token differently. Tests showed that cjose accepts keys with duplicate
// members, RSA keys of any size, and padded or non-canonical base64url. Since libjwt 3 (2025), libjwt reads key sets
// too; it was not tested.
#ifndef STAMPGATE_GATEWAY_TOKENS_JWT_H_
#define STAMPGATE_GATEWAY_TOKENS_JWT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace stampgate {

inline constexpr size_t kMaxTokenBytes = 8 << 10;
inline constexpr size_t kMaxSubjectBytes = 512;

// The largest accepted difference between the clocks of an issuer and of this machine.
inline constexpr absl::Duration kTokenLeeway = absl::Seconds(30);

// The accepted algorithms: RSASSA-PKCS1-v1_5 (RS256) and ECDSA on P-256 (ES256), both with SHA-256.
enum class TokenAlgorithm { kRs256, kEs256 };

// Returns whether `text` can be the id of a key in a token or a key set: 1 to 128 visible ASCII characters.
bool IsTokenKeyId(absl::string_view text);

// A well-formed token. Its signature is not verified yet, so its content must not be trusted.
struct SignedToken {
  TokenAlgorithm algorithm = TokenAlgorithm::kRs256;
  std::optional<std::string> key_id;
  std::string signed_text;  // the part of the token that is signed
  std::string signature;    // bytes
  std::string payload;      // bytes
};

// Parses a token. Refuses a token if the header contains a key or the address of a key, or requires an extension.
// ReadSignedToken, ReadTokenClaims and CheckTokenClaims have one error: kUnauthenticated. Its message names the broken
// rule and quotes no part of the token.
absl::StatusOr<SignedToken> ReadSignedToken(absl::string_view token);

// The registered claims, which the gateway checks. The gateway ignores all other claims, which must be valid JSON.
struct TokenClaims {
  std::string issuer;                    // "iss"
  std::string subject;                   // "sub", 1 to kMaxSubjectBytes
  std::vector<std::string> audiences;    // "aud", a string or a list of strings
  absl::Time expires;                    // "exp"
  std::optional<absl::Time> not_before;  // "nbf"
};

// Parses the payload of a token.
absl::StatusOr<TokenClaims> ReadTokenClaims(std::string payload);

// Checks that a token with these claims is valid at the time `now`, and that one of its audiences is in `audiences`.
absl::Status CheckTokenClaims(const TokenClaims& claims, absl::Span<const std::string> audiences, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_JWT_H_
