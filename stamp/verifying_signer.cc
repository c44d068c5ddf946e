#include "stamp/verifying_signer.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/objects.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "base/json/hex.h"
#include "base/secret/import_key.h"
#include "base/secret/openssl_ptr.h"
#include "stamp/curve.h"
#include "stamp/request_body.h"

namespace stampgate {
namespace {

constexpr size_t kCompressedPointBytes = 33;

const uint8_t* Bytes(absl::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

// Imports the public key `encoded`, which has the form that stamps contain. Returns null if `encoded` is no key of the
// curve.
EvpPkeyPtr ImportPublicKey(Curve curve, const std::string& encoded) {
  if (curve == Curve::kEd25519) {
    return EvpPkeyPtr(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(encoded), encoded.size()));
  }
  // OpenSSL accepts a single zero byte too, which is the point at infinity.
  if (encoded.size() != kCompressedPointBytes) return nullptr;
  OsslParamBldPtr builder(OSSL_PARAM_BLD_new());
  if (builder == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                      curve == Curve::kP256 ? SN_X9_62_prime256v1 : SN_secp256k1, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, encoded.data(), encoded.size()) != 1) {
    return nullptr;
  }
  return ImportKey("EC", EVP_PKEY_PUBLIC_KEY, *builder);
}

// Thread-safe. OpenSSL lets threads share a key, but no context.
class SignatureVerifier {
 public:
  SignatureVerifier(Curve curve, EvpPkeyPtr key) : curve_(curve), key_(std::move(key)) {}

  bool Verifies(const RequestBody& body, absl::string_view signature) const {
    const bool verifies = curve_ == Curve::kEd25519 ? VerifiesEd25519(body, signature) : VerifiesEcdsa(body, signature);
    if (!verifies) ERR_clear_error();
    return verifies;
  }

 private:
  bool VerifiesEcdsa(const RequestBody& body, absl::string_view signature) const {
    EvpPkeyCtxPtr ctx(EVP_PKEY_CTX_new_from_pkey(nullptr, key_.get(), nullptr));
    return ctx != nullptr && EVP_PKEY_verify_init(ctx.get()) == 1 &&
           EVP_PKEY_verify(ctx.get(), Bytes(signature), signature.size(), body.sha256().data(), body.sha256().size()) ==
               1;
  }

  bool VerifiesEd25519(const RequestBody& body, absl::string_view signature) const {
    EvpMdCtxPtr ctx(EVP_MD_CTX_new());
    return ctx != nullptr && EVP_DigestVerifyInit(ctx.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
           EVP_DigestVerify(ctx.get(), Bytes(signature), signature.size(), Bytes(body.bytes()), body.bytes().size()) ==
               1;
  }

  const Curve curve_;
  const EvpPkeyPtr key_;
};

class VerifyingSigner final : public Signer {
 public:
  VerifyingSigner(std::shared_ptr<const Signer> signer, Curve curve, EvpPkeyPtr key)
      : signer_(std::move(signer)), verifier_(std::make_shared<const SignatureVerifier>(curve, std::move(key))) {}

  absl::string_view public_key_hex() const override { return signer_->public_key_hex(); }
  absl::string_view scheme() const override { return signer_->scheme(); }
  bool is_slow() const override { return signer_->is_slow(); }

  void Sign(const RequestBody& body, Done done) const override {
    signer_->Sign(body,
                  [verifier = verifier_, &body, done = std::move(done)](absl::StatusOr<std::string> signature) mutable {
                    if (signature.ok() && !verifier->Verifies(body, DecodeHex(*signature).value_or(""))) {
                      signature = absl::InternalError("the signature does not verify");
                    }
                    std::move(done)(std::move(signature));
                  });
  }

 private:
  const std::shared_ptr<const Signer> signer_;
  // Signatures that are in progress share the verifier, since the signer may call back after this object is destroyed.
  const std::shared_ptr<const SignatureVerifier> verifier_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Signer>> MakeVerifyingSigner(std::shared_ptr<const Signer> signer) {
  const std::optional<Curve> curve = ParseScheme(signer->scheme());
  if (!curve.has_value()) return absl::InvalidArgumentError("the signer's scheme is unknown");
  EvpPkeyPtr key = ImportPublicKey(*curve, DecodeHex(signer->public_key_hex()).value_or(""));
  if (key == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the signer's public key is not a key of its scheme");
  }
  return std::make_shared<const VerifyingSigner>(std::move(signer), *curve, std::move(key));
}

}  // namespace stampgate
