// JSON Web Tokens (RFC 7519, compact form), taken apart strictly. Whether one is genuine is not decided here.
//
// Our own JSON reader and OpenSSL's signatures, and no library for tokens: of those in Debian 12, cjose takes keys with
// a member that comes twice, RSA keys of any size, padded and non-canonical base64url (tried), so that it and we could
// read one token in two ways; libjwt and cpp-jwt know no key sets. What would be left for them is one call of OpenSSL.
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

// How far the clocks of an issuer and of this machine may be apart.
inline constexpr absl::Duration kTokenLeeway = absl::Seconds(30);

// The only ones: RSASSA-PKCS1-v1_5 and ECDSA on P-256, both with SHA-256.
enum class TokenAlgorithm { kRs256, kEs256 };

// Id of a key in a token or a key set: 1 to 128 visible ASCII characters.
bool IsTokenKeyId(absl::string_view text);

// A token of good form. Nothing in it is known to be true.
struct SignedToken {
  TokenAlgorithm algorithm = TokenAlgorithm::kRs256;
  std::optional<std::string> key_id;
  std::string signed_text;  // what the signature is of
  std::string signature;    // bytes
  std::string payload;      // bytes
};

// Errors, here and below: kUnauthenticated; the message names the rule and quotes nothing of the token. A header that
// contains a key or the address of one, or that asks for an extension, is refused.
absl::StatusOr<SignedToken> ReadSignedToken(absl::string_view token);

// The registered claims that the gateway checks. Other claims must be JSON, and are ignored.
struct TokenClaims {
  std::string issuer;                    // "iss"
  std::string subject;                   // "sub", 1 to kMaxSubjectBytes
  std::vector<std::string> audiences;    // "aud", one text or a list
  absl::Time expires;                    // "exp"
  std::optional<absl::Time> not_before;  // "nbf"
  std::optional<absl::Time> issued;      // "iat"
};

// Reads a token's payload.
absl::StatusOr<TokenClaims> ReadTokenClaims(std::string payload);

// Checks that a token with these claims is valid now, for a service with one of these audiences.
absl::Status CheckTokenClaims(const TokenClaims& claims, absl::Span<const std::string> audiences, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_JWT_H_
