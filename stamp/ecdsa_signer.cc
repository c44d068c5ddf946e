#include "stamp/ecdsa_signer.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/obj_mac.h>
#include <openssl/objects.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "base/secret/import_key.h"
#include "base/secret/memory.h"
#include "base/secret/openssl_ptr.h"
#include "base/threads/mutex.h"
#include "stamp/request_body.h"

namespace stampgate {
namespace {

constexpr size_t kMaxDerBytes = 72;

absl::Status OpensslFailed(absl::string_view what) {
  ERR_clear_error();
  return absl::InternalError(what);
}

// Imports the key into OpenSSL such that the only copy of the scalar in OpenSSL is in the locked arena. OpenSSL's PEM,
// decoder and d2i functions would leave more copies on the unlocked heap.
EvpPkeyPtr ImportKeyPair(const PrivateKey& key, const PublicKey& public_key) {
  BignumPtr scalar(BN_secure_new());
  OsslParamBldPtr builder(OSSL_PARAM_BLD_new());
  if (scalar == nullptr || builder == nullptr ||
      BN_bin2bn(key.scalar.data(), static_cast<int>(key.scalar.size()), scalar.get()) == nullptr ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME,
                                      key.curve == Curve::kP256 ? SN_X9_62_prime256v1 : SN_secp256k1, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, public_key.uncompressed.data(),
                                       public_key.uncompressed.size()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, scalar.get()) != 1) {
    return nullptr;
  }
  return ImportKey("EC", EVP_PKEY_KEYPAIR, *builder);
}

class EcdsaSigner final : public Signer {
 public:
  EcdsaSigner(Curve curve, const PublicKey& public_key, EvpPkeyPtr key)
      : curve_(curve), public_key_hex_(public_key.Hex()), key_(std::move(key)) {}

  absl::string_view public_key_hex() const override { return public_key_hex_; }
  absl::string_view scheme() const override { return StampScheme(curve_); }
  void Sign(const RequestBody& body, Done done) const override { std::move(done)(SignNow(body.sha256())); }
  // OpenSSL has fast code for P-256 only.
  bool is_slow() const override { return curve_ != Curve::kP256; }

 private:
  absl::StatusOr<std::string> SignNow(const std::array<uint8_t, 32>& digest) const {
    EvpPkeyCtxPtr ctx = TakeContext();
    uint8_t der[kMaxDerBytes];
    size_t size = sizeof(der);
    if (ctx == nullptr || EVP_PKEY_sign(ctx.get(), der, &size, digest.data(), digest.size()) != 1) {
      return OpensslFailed("OpenSSL cannot sign");
    }
    ReturnContext(std::move(ctx));
    return absl::BytesToHexString({reinterpret_cast<const char*>(der), size});
  }

  // Returns an idle context, or a new one if none is idle. Creating a context takes half as long as a signature.
  EvpPkeyCtxPtr TakeContext() const {
    {
      MutexLock lock(mutex_);
      if (!idle_.empty()) {
        EvpPkeyCtxPtr ctx = std::move(idle_.back());
        idle_.pop_back();
        return ctx;
      }
    }
    EvpPkeyCtxPtr ctx(EVP_PKEY_CTX_new_from_pkey(nullptr, key_.get(), nullptr));
    if (ctx == nullptr || EVP_PKEY_sign_init(ctx.get()) != 1) return nullptr;
    return ctx;
  }

  void ReturnContext(EvpPkeyCtxPtr ctx) const {
    MutexLock lock(mutex_);
    idle_.push_back(std::move(ctx));
  }

  const Curve curve_;
  const std::string public_key_hex_;
  const EvpPkeyPtr key_;
  mutable Mutex mutex_;
  mutable std::vector<EvpPkeyCtxPtr> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Signer>> MakeEcdsaSigner(const PrivateKey& key) {
  if (key.curve == Curve::kEd25519) return absl::InvalidArgumentError("not a key for ECDSA");
  ABSL_RETURN_IF_ERROR(InitializeKeyMemory());
  ABSL_ASSIGN_OR_RETURN(PublicKey public_key, DerivePublicKey(key));
  EvpPkeyPtr imported = ImportKeyPair(key, public_key);
  if (imported == nullptr) return OpensslFailed("OpenSSL refused the key");
  return std::make_shared<const EcdsaSigner>(key.curve, public_key, std::move(imported));
}

}  // namespace stampgate
