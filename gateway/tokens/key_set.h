// The public keys of a token issuer: a JSON Web Key Set (RFC 7517).
#ifndef STAMPGATE_GATEWAY_TOKENS_KEY_SET_H_
#define STAMPGATE_GATEWAY_TOKENS_KEY_SET_H_

#include <openssl/evp.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/tokens/jwt.h"
#include "webhooks/keys/jwk_set.h"

namespace stampgate {

// One key, which is for one algorithm. Cheap to copy; thread-safe.
class TokenKey {
 public:
  // Reads a JSON Web Key's numbers, which are in base64url. Errors: kInvalidArgument, naming the rule.
  static absl::StatusOr<TokenKey> Rsa(absl::string_view n, absl::string_view e);
  static absl::StatusOr<TokenKey> P256(absl::string_view x, absl::string_view y);

  TokenAlgorithm algorithm() const { return algorithm_; }

  // Whether `signature` is this key's, of `text`. ES256 signatures are 64 bytes, as RFC 7518 has them.
  bool Verifies(absl::string_view text, absl::string_view signature) const;

  // The numbers are the same.
  bool operator==(const TokenKey& other) const;

 private:
  TokenKey(TokenAlgorithm algorithm, std::shared_ptr<EVP_PKEY> key) : algorithm_(algorithm), key_(std::move(key)) {}

  TokenAlgorithm algorithm_;
  std::shared_ptr<EVP_PKEY> key_;
};

// Immutable. Limits: see jwk_set.h.
class TokenKeySet {
 public:
  // A key that cannot be used is left out and listed in refused(): another type, curve, use, operation or algorithm
  // than RS256 and ES256 have; RSA of less than 2048 or more than 8192 bits; malformed numbers or id; a private key,
  // which is not secret any more. Errors: kInvalidArgument if the text is no key set, is larger than the limits, gives
  // one id to two different keys, or has no key that can be used.
  static absl::StatusOr<TokenKeySet> Parse(std::string json);

  // The key of that id, if it is for that algorithm. Without an id: the only key that is. Null if there is none.
  const TokenKey* Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id) const;

  // For each key that was left out: its place in the list and why; never a value.
  const std::vector<std::string>& refused() const { return set_.refused; }

 private:
  explicit TokenKeySet(JwkSet<TokenKey> set) : set_(std::move(set)) {}

  JwkSet<TokenKey> set_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_KEY_SET_H_
