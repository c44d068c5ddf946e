#include "gateway/tokens/testing.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/secret/openssl_ptr.h"

namespace stampgate {
namespace {

void Require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "cannot create a key or a token for a test: %s\n", what);
  std::abort();
}

std::string BytesOf(const BIGNUM* number, int size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  BN_bn2binpad(number, reinterpret_cast<uint8_t*>(bytes.data()), size);
  return bytes;
}

// Returns the number with this name in `key`, in base64url. The number is encoded in `size` bytes, or in as few bytes
// as possible if `size` is 0.
std::string Number(EVP_PKEY* key, const char* name, int size = 0) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return "";
  const BignumPtr owner(number);
  return Base64Url(BytesOf(number, size == 0 ? BN_num_bytes(number) : size));
}

}  // namespace

std::string Base64Url(absl::string_view bytes) { return absl::WebSafeBase64Escape(bytes); }

TestTokenKey::TestTokenKey(const std::string& type, unsigned bits)
    : is_rsa_(type == "RSA"),
      key_(is_rsa_ ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", static_cast<size_t>(bits))
                   : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", type.c_str()),
           &EVP_PKEY_free) {
  Require(key_ != nullptr, "key");
}

std::string TestTokenKey::n() const { return Number(key_.get(), OSSL_PKEY_PARAM_RSA_N); }
std::string TestTokenKey::e() const { return Number(key_.get(), OSSL_PKEY_PARAM_RSA_E); }
std::string TestTokenKey::x() const { return Number(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, 32); }
std::string TestTokenKey::y() const { return Number(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, 32); }

std::string TestTokenKey::Jwk(absl::string_view members) const {
  const std::string more = members.empty() ? "" : absl::StrCat(",", members);
  if (is_rsa_) return absl::StrCat(R"({"kty":"RSA","n":")", n(), R"(","e":")", e(), "\"", more, "}");
  return absl::StrCat(R"({"kty":"EC","crv":"P-256","x":")", x(), R"(","y":")", y(), "\"", more, "}");
}

std::string TestTokenKey::Pem() const {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new(BIO_s_mem()), &BIO_free_all);
  Require(PEM_write_bio_PUBKEY(bio.get(), key_.get()) == 1, "PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

std::string TestTokenKey::SignDer(absl::string_view text) const {
  const EvpMdCtxPtr context(EVP_MD_CTX_new());
  size_t size = 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  Require(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
              EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1,
          "signature");
  std::string signature(size, '\0');
  Require(EVP_DigestSign(context.get(), reinterpret_cast<uint8_t*>(signature.data()), &size, bytes, text.size()) == 1,
          "signature");
  signature.resize(size);
  return signature;
}

std::string TestTokenKey::Sign(absl::string_view text, const EVP_MD* hash, int padding) const {
  if (!is_rsa_) {
    const std::string der = SignDer(text);
    const auto* bytes = reinterpret_cast<const uint8_t*>(der.data());
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
        d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(der.size())), &ECDSA_SIG_free);
    Require(pair != nullptr, "signature");
    const int size = (EVP_PKEY_get_bits(key_.get()) + 7) / 8;
    return BytesOf(ECDSA_SIG_get0_r(pair.get()), size) + BytesOf(ECDSA_SIG_get0_s(pair.get()), size);
  }
  const EvpMdCtxPtr context(EVP_MD_CTX_new());
  EVP_PKEY_CTX* options = nullptr;
  std::string signature(static_cast<size_t>(EVP_PKEY_get_size(key_.get())), '\0');
  size_t size = signature.size();
  Require(EVP_DigestSignInit(context.get(), &options, hash, nullptr, key_.get()) == 1 &&
              EVP_PKEY_CTX_set_rsa_padding(options, padding) == 1 &&
              EVP_DigestSign(context.get(), reinterpret_cast<uint8_t*>(signature.data()), &size,
                             reinterpret_cast<const uint8_t*>(text.data()), text.size()) == 1,
          "signature");
  return signature;
}

std::string TestTokenKey::Token(absl::string_view header, absl::string_view payload) const {
  const std::string text = absl::StrCat(Base64Url(header), ".", Base64Url(payload));
  return absl::StrCat(text, ".", Base64Url(Sign(text)));
}

std::string JwksOf(const std::vector<std::string>& keys) {
  return absl::StrCat(R"({"keys":[)", absl::StrJoin(keys, ","), "]}");
}

}  // namespace stampgate
