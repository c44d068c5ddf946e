#include "gateway/tokens/key_set.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/json/base64url.h"
#include "base/secret/import_key.h"
#include "base/secret/openssl_ptr.h"

namespace stampgate {
namespace {

constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 8192;
constexpr int kMaxExponentBits = 64;  // a larger exponent makes verification slow, and no issuer needs one
constexpr size_t kP256Bytes = 32;

using EcdsaSigPtr = std::unique_ptr<ECDSA_SIG, OpensslDeleter<ECDSA_SIG_free>>;

const uint8_t* Bytes(absl::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

absl::Status Invalid(absl::string_view why) { return absl::InvalidArgumentError(why); }

BignumPtr NumberOf(absl::string_view bytes) {
  return BignumPtr(BN_bin2bn(Bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

// Returns the two numbers of an ECDSA signature in DER, the form that OpenSSL requires. Returns an empty string if
// `raw` does not have 64 bytes.
std::string DerSignature(absl::string_view raw) {
  if (raw.size() != 2 * kP256Bytes) return "";
  const EcdsaSigPtr signature(ECDSA_SIG_new());
  BignumPtr r = NumberOf(raw.substr(0, kP256Bytes));
  BignumPtr s = NumberOf(raw.substr(kP256Bytes));
  if (signature == nullptr || r == nullptr || s == nullptr) return "";
  ECDSA_SIG_set0(signature.get(), r.release(), s.release());
  uint8_t* bytes = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &bytes);
  const std::unique_ptr<uint8_t, decltype([](uint8_t* p) { OPENSSL_free(p); })> owner(bytes);
  return size > 0 ? std::string(reinterpret_cast<char*>(bytes), static_cast<size_t>(size)) : "";
}

absl::StatusOr<TokenKey> MakeTokenKey(const JsonWebKey& jwk) {
  using Operations = JsonWebKey::Operations;
  if (jwk.operations == Operations::kMalformed) return Invalid("key_ops is not a list");
  const bool is_rsa = jwk.Text("kty") == "RSA";
  if (!is_rsa && jwk.Text("kty") != "EC") return Invalid("kty is neither RSA nor EC");
  if (jwk.is_private) return Invalid("it is a private key");
  // The trust bundles of SPIFFE name the use "jwt-svid".
  const absl::string_view use = jwk.Text("use").value_or("sig");
  if (use != "sig" && use != "jwt-svid") return Invalid("use is neither sig nor jwt-svid");
  if (jwk.operations == Operations::kWithoutVerify) return Invalid("key_ops does not contain verify");
  const absl::string_view algorithm = is_rsa ? "RS256" : "ES256";
  if (jwk.Text("alg").value_or(algorithm) != algorithm) return Invalid("alg does not match kty");
  if (const auto kid = jwk.Text("kid"); kid.has_value() && !IsTokenKeyId(*kid)) {
    return Invalid("kid is not 1 to 128 visible ASCII characters");
  }
  if (is_rsa) return TokenKey::Rsa(jwk.Text("n").value_or(""), jwk.Text("e").value_or(""));
  if (jwk.Text("crv") != "P-256") return Invalid("crv is not P-256");
  return TokenKey::P256(jwk.Text("x").value_or(""), jwk.Text("y").value_or(""));
}

}  // namespace

absl::StatusOr<TokenKey> TokenKey::Rsa(absl::string_view n, absl::string_view e) {
  const std::optional<std::string> modulus_bytes = DecodeBase64Url(n);
  const std::optional<std::string> exponent_bytes = DecodeBase64Url(e);
  if (!modulus_bytes.has_value() || !exponent_bytes.has_value()) return Invalid("n or e is not canonical base64url");
  const BignumPtr modulus = NumberOf(*modulus_bytes);
  const BignumPtr exponent = NumberOf(*exponent_bytes);
  const OsslParamBldPtr parts(OSSL_PARAM_BLD_new());
  if (modulus == nullptr || exponent == nullptr || parts == nullptr) return Invalid("there is no memory for the key");
  if (BN_num_bits(modulus.get()) < kMinRsaBits) return Invalid("n has less than 2048 bits");
  if (BN_num_bits(modulus.get()) > kMaxRsaBits) return Invalid("n has more than 8192 bits");
  if (BN_is_odd(modulus.get()) == 0) return Invalid("n is even");
  if (BN_is_odd(exponent.get()) == 0 || BN_is_one(exponent.get()) == 1 ||
      BN_num_bits(exponent.get()) > kMaxExponentBits) {
    return Invalid("e is not an odd number of 3 or more with at most 64 bits");
  }
  OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  std::shared_ptr<EVP_PKEY> key = ImportKey("RSA", EVP_PKEY_PUBLIC_KEY, *parts);
  if (key == nullptr) return Invalid("n and e are not an RSA key");
  return TokenKey(TokenAlgorithm::kRs256, std::move(key));
}

absl::StatusOr<TokenKey> TokenKey::P256(absl::string_view x, absl::string_view y) {
  const std::optional<std::string> x_bytes = DecodeBase64Url(x);
  const std::optional<std::string> y_bytes = DecodeBase64Url(y);
  if (!x_bytes.has_value() || !y_bytes.has_value() || x_bytes->size() != kP256Bytes || y_bytes->size() != kP256Bytes) {
    return Invalid("x or y is not 32 bytes in canonical base64url");
  }
  const std::string point = absl::StrCat("\x04", *x_bytes, *y_bytes);
  const OsslParamBldPtr parts(OSSL_PARAM_BLD_new());
  if (parts == nullptr) return Invalid("there is no memory for the key");
  OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  std::shared_ptr<EVP_PKEY> key = ImportKey("EC", EVP_PKEY_PUBLIC_KEY, *parts);
  if (key == nullptr) return Invalid("x and y are not a point on P-256");
  return TokenKey(TokenAlgorithm::kEs256, std::move(key));
}

bool TokenKey::Verifies(absl::string_view text, absl::string_view signature) const {
  std::string der;
  if (algorithm_ == TokenAlgorithm::kEs256) {
    der = DerSignature(signature);
    if (der.empty()) return false;
    signature = der;
  }
  const EvpMdCtxPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* key_context = nullptr;  // owned by `context`
  bool good =
      context != nullptr && EVP_DigestVerifyInit(context.get(), &key_context, EVP_sha256(), nullptr, key_.get()) == 1;
  if (good && algorithm_ == TokenAlgorithm::kRs256) {
    good = EVP_PKEY_CTX_set_rsa_padding(key_context, RSA_PKCS1_PADDING) == 1;
  }
  good = good && EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(text), text.size()) == 1;
  ERR_clear_error();
  return good;
}

bool TokenKey::operator==(const TokenKey& other) const {
  return algorithm_ == other.algorithm_ && EVP_PKEY_eq(key_.get(), other.key_.get()) == 1;
}

absl::StatusOr<TokenKeySet> TokenKeySet::Parse(std::string json) {
  ABSL_ASSIGN_OR_RETURN(JwkSet<TokenKey> read,
                        ReadJwkSet<TokenKey>(std::move(json), {"kty", "crv", "alg", "use", "n", "e", "x", "y"},
                                             SameId::kSetIsRefused, MakeTokenKey));
  return TokenKeySet(std::move(read));
}

const TokenKey* TokenKeySet::Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id) const {
  const auto fits = [&](const JwkSet<TokenKey>::Entry& entry) {
    return entry.key.algorithm() == algorithm && (!key_id.has_value() || entry.key_id == key_id);
  };
  const auto found = absl::c_find_if(set_.keys, fits);
  if (found == set_.keys.end() || absl::c_count_if(set_.keys, fits) > 1) return nullptr;
  return &found->key;
}

}  // namespace stampgate
