// The secret half of an API key, and what follows from it.
#ifndef STAMPGATE_STAMP_PRIVATE_KEY_H_
#define STAMPGATE_STAMP_PRIVATE_KEY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/curve.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

inline constexpr size_t kScalarBytes = 32;

// As read or made, not yet ready to sign.
struct PrivateKey {
  Curve curve;
  // kScalarBytes: the scalar, big-endian (P-256, secp256k1), or the seed (Ed25519).
  SecretBytes scalar;
};

struct PublicKey {
  // As stamps carry it, in bytes: the compressed point (33), or for Ed25519 the key itself (32).
  std::string encoded;
  // 0x04, x, y; empty for Ed25519.
  std::string uncompressed;

  std::string Hex() const;
  // True if `bytes` is one of the two forms of this key.
  bool Matches(absl::string_view bytes) const;
};

// Errors: kInvalidArgument if the scalar has another length, is 0, or is not below the curve's order. The message
// fits behind the name of a file and reveals nothing of the scalar.
absl::StatusOr<PublicKey> DerivePublicKey(const PrivateKey& key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_PRIVATE_KEY_H_
