// A private key, and the public key that is derived from it.
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

// The key as it was read or generated; MakeSigner turns it into a signer.
struct PrivateKey {
  Curve curve;
  // kScalarBytes bytes: the scalar in big-endian order (P-256, secp256k1), or the seed (Ed25519).
  SecretBytes scalar;
};

struct PublicKey {
  // The bytes that stamps contain: the compressed point (33 bytes), or for Ed25519 the key itself (32 bytes).
  std::string encoded;
  // 0x04, x, y; empty for Ed25519.
  std::string uncompressed;

  std::string Hex() const;
  // True if `bytes` is one of the two forms of this key.
  bool Matches(absl::string_view bytes) const;
};

// Errors: kInvalidArgument if the scalar has another length, is 0, or is not below the curve's order. The message can
// follow the name of a file and reveals nothing about the scalar.
absl::StatusOr<PublicKey> DerivePublicKey(const PrivateKey& key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_PRIVATE_KEY_H_
