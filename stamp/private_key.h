// A private key, and the public key that is derived from it.
#ifndef STAMPGATE_STAMP_PRIVATE_KEY_H_
#define STAMPGATE_STAMP_PRIVATE_KEY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret/bytes.h"
#include "stamp/curve.h"

namespace stampgate {

inline constexpr size_t kScalarBytes = 32;

// A private key that was read from a file or generated. MakeSigner makes a signer of it.
struct PrivateKey {
  Curve curve;
  // kScalarBytes bytes: the scalar in big-endian order (P-256, secp256k1), or the seed (Ed25519).
  SecretBytes scalar;
};

struct PublicKey {
  // The bytes of the public key that a stamp contains: the compressed point (33 bytes), or for Ed25519 the key itself
  // (32 bytes).
  std::string encoded;
  // The uncompressed point: 0x04, x, y (65 bytes). Empty for Ed25519.
  std::string uncompressed;

  std::string Hex() const;
  // Returns true if `bytes` equals `encoded`, or if `bytes` equals `uncompressed` and is not empty.
  bool Matches(absl::string_view bytes) const;
};

// Returns the public key of `key`. Errors: kInvalidArgument if the scalar is not kScalarBytes long, is 0, or is not
// below the curve's order; those of SecretBytes::Create; kInternal if OpenSSL fails. A message for kInvalidArgument
// begins with "its", so that the name of a file can be put before the message. No message reveals the scalar.
absl::StatusOr<PublicKey> DerivePublicKey(const PrivateKey& key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_PRIVATE_KEY_H_
