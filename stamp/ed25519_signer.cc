#include "stamp/ed25519_signer.h"

#include <sodium.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "base/secret/bytes.h"
#include "stamp/request_body.h"

namespace stampgate {
namespace {

class Ed25519Signer final : public Signer {
 public:
  Ed25519Signer(std::string public_key_hex, SecretBytes secret_key)
      : public_key_hex_(std::move(public_key_hex)), secret_key_(std::move(secret_key)) {}

  absl::string_view public_key_hex() const override { return public_key_hex_; }
  absl::string_view scheme() const override { return StampScheme(Curve::kEd25519); }

  void Sign(const RequestBody& body, Done done) const override {
    uint8_t signature[crypto_sign_BYTES];
    crypto_sign_detached(signature, nullptr, reinterpret_cast<const uint8_t*>(body.bytes().data()), body.bytes().size(),
                         secret_key_.data());
    std::move(done)(absl::BytesToHexString({reinterpret_cast<const char*>(signature), sizeof(signature)}));
  }

 private:
  const std::string public_key_hex_;
  const SecretBytes secret_key_;  // seed, then public key: libsodium's format
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Signer>> MakeEd25519Signer(const PrivateKey& key) {
  if (key.curve != Curve::kEd25519) return absl::InvalidArgumentError("not a key for Ed25519");
  ABSL_ASSIGN_OR_RETURN(PublicKey public_key, DerivePublicKey(key));
  ABSL_ASSIGN_OR_RETURN(SecretBytes secret_key, SecretBytes::Create(crypto_sign_SECRETKEYBYTES));
  uint8_t ignored[crypto_sign_PUBLICKEYBYTES];
  crypto_sign_seed_keypair(ignored, secret_key.data(), key.scalar.data());
  secret_key.MakeReadOnly();
  return std::make_shared<const Ed25519Signer>(public_key.Hex(), std::move(secret_key));
}

}  // namespace stampgate
