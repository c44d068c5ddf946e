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

// A public key, which belongs to one algorithm. Cheap to copy. Thread-safe.
class TokenKey {
 public:
  // Rsa and P256 create a key from the numbers of a JSON Web Key, in base64url. Errors: kInvalidArgument; the message
  // names the broken rule.
  static absl::StatusOr<TokenKey> Rsa(absl::string_view n, absl::string_view e);
  static absl::StatusOr<TokenKey> P256(absl::string_view x, absl::string_view y);

  TokenAlgorithm algorithm() const { return algorithm_; }

  // Returns whether `signature` is a signature of `text` by this key. An ES256 signature must have the 64 bytes that
  // RFC 7518 defines.
  bool Verifies(absl::string_view text, absl::string_view signature) const;

  // Returns whether both keys have the same algorithm and the same numbers.
  bool operator==(const TokenKey& other) const;

 private:
  TokenKey(TokenAlgorithm algorithm, std::shared_ptr<EVP_PKEY> key) : algorithm_(algorithm), key_(std::move(key)) {}

  TokenAlgorithm algorithm_;
  std::shared_ptr<EVP_PKEY> key_;
};

// An immutable set of keys. jwk_set.h defines its limits.
class TokenKeySet {
 public:
  // Parses a key set. Leaves out each key that cannot be used, and lists it in refused(). A key cannot be used if
  //
  // - its type, curve, use, operations or algorithm are not those of an RS256 or ES256 key for signatures
  // - it is an RSA key of less than 2048 or more than 8192 bits
  // - its numbers or its id are malformed
  // - it is a private key, because a published key is not secret
  //
  // Errors: kInvalidArgument if the text is not a key set, exceeds the limits, has two different keys with the same id,
  // or has no key that can be used.
  static absl::StatusOr<TokenKeySet> Parse(std::string json);

  // If `key_id` is set, returns the key with this id, or null if the set has no such key or the key does not belong to
  // `algorithm`. If `key_id` is not set, returns the only key that belongs to `algorithm`, or null unless the set has
  // exactly one such key.
  const TokenKey* Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id) const;

  // Returns a text for each key that was left out, with the index of the key in the set and the reason. The text
  // contains no value of the key.
  const std::vector<std::string>& refused() const { return set_.refused; }

 private:
  explicit TokenKeySet(JwkSet<TokenKey> set) : set_(std::move(set)) {}

  JwkSet<TokenKey> set_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_KEY_SET_H_
