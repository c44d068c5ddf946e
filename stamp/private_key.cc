#include "stamp/private_key.h"

#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <sodium.h>

#include <cstdint>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "base/secret/openssl_ptr.h"

namespace stampgate {
namespace {

absl::Status OpensslFailed() {
  ERR_clear_error();
  return absl::InternalError("OpenSSL cannot derive the public key");
}

std::string EncodePoint(const EC_GROUP* group, const EC_POINT* point, point_conversion_form_t form) {
  uint8_t bytes[65];
  size_t size = EC_POINT_point2oct(group, point, form, bytes, sizeof(bytes), nullptr);
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

absl::StatusOr<PublicKey> DeriveEcdsa(Curve curve, const SecretBytes& scalar) {
  EcGroupPtr group(EC_GROUP_new_by_curve_name(curve == Curve::kP256 ? NID_X9_62_prime256v1 : NID_secp256k1));
  BignumPtr number(BN_secure_new());
  BnCtxPtr ctx(BN_CTX_secure_new());
  if (group == nullptr || number == nullptr || ctx == nullptr ||
      BN_bin2bn(scalar.data(), static_cast<int>(scalar.size()), number.get()) == nullptr) {
    return OpensslFailed();
  }
  if (BN_is_zero(number.get()) || BN_cmp(number.get(), EC_GROUP_get0_order(group.get())) >= 0) {
    return absl::InvalidArgumentError("its scalar is not between 1 and the curve's order");
  }
  EcPointPtr point(EC_POINT_new(group.get()));
  if (point == nullptr || EC_POINT_mul(group.get(), point.get(), number.get(), nullptr, nullptr, ctx.get()) != 1) {
    return OpensslFailed();
  }
  return PublicKey{EncodePoint(group.get(), point.get(), POINT_CONVERSION_COMPRESSED),
                   EncodePoint(group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED)};
}

absl::StatusOr<PublicKey> DeriveEd25519(const SecretBytes& seed) {
  if (sodium_is_zero(seed.data(), seed.size())) return absl::InvalidArgumentError("its seed is all zero");
  ABSL_ASSIGN_OR_RETURN(SecretBytes secret_key, SecretBytes::Create(crypto_sign_SECRETKEYBYTES));
  std::string public_key(crypto_sign_PUBLICKEYBYTES, '\0');
  crypto_sign_seed_keypair(reinterpret_cast<uint8_t*>(public_key.data()), secret_key.data(), seed.data());
  return PublicKey{std::move(public_key), ""};
}

}  // namespace

std::string PublicKey::Hex() const { return absl::BytesToHexString(encoded); }

bool PublicKey::Matches(absl::string_view bytes) const {
  return bytes == encoded || (!uncompressed.empty() && bytes == uncompressed);
}

absl::StatusOr<PublicKey> DerivePublicKey(const PrivateKey& key) {
  if (key.scalar.size() != kScalarBytes) return absl::InvalidArgumentError("its scalar is not 32 bytes long");
  return key.curve == Curve::kEd25519 ? DeriveEd25519(key.scalar) : DeriveEcdsa(key.curve, key.scalar);
}

}  // namespace stampgate
