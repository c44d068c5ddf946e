#include "gateway/tokens/key_set.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "stamp/secret/openssl_ptr.h"
#include "translate/json/base64url.h"
#include "translate/json/reader.h"
#include "webhooks/keys/key_set.h"

namespace stampgate {
namespace {

constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 8192;
constexpr int kMaxExponentBits = 64;  // larger ones cost time and are nobody's
constexpr size_t kP256Bytes = 32;

using EcdsaSigPtr = std::unique_ptr<ECDSA_SIG, OpensslDeleter<ECDSA_SIG_free>>;
using EvpMdCtxPtr = std::unique_ptr<EVP_MD_CTX, OpensslDeleter<EVP_MD_CTX_free>>;

const uint8_t* Bytes(absl::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

absl::Status Invalid(absl::string_view why) { return absl::InvalidArgumentError(why); }

BignumPtr NumberOf(absl::string_view bytes) {
  return BignumPtr(BN_bin2bn(Bytes(bytes), static_cast<int>(bytes.size()), nullptr));
}

// Null if OpenSSL does not take the key, such as a point that is not on the curve.
std::shared_ptr<EVP_PKEY> MakeKey(const char* type, OSSL_PARAM_BLD* parts) {
  const OsslParamPtr params(OSSL_PARAM_BLD_to_param(parts));
  const EvpPkeyCtxPtr context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (params == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1) {
    EVP_PKEY_free(key);
    key = nullptr;
  }
  ERR_clear_error();
  if (key == nullptr) return nullptr;
  return {key, &EVP_PKEY_free};
}

// OpenSSL wants the two numbers of an ECDSA signature in DER. Empty if `raw` is not 64 bytes.
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

// Members of a JSON Web Key; nothing if it is not there.
struct JsonWebKey {
  std::optional<std::string> kid, kty, crv, alg, use, n, e, x, y;
  bool may_verify = true;  // key_ops does not say otherwise
  bool is_private = false;
};

absl::StatusOr<bool> ListsVerify(JsonValue& value) {
  bool listed = false;
  absl::Status status = value.ForEachElement([&](size_t, JsonValue& element) {
    if (element.kind() == JsonValue::Kind::kString && element.string() == "verify") listed = true;
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return listed;
}

absl::Status ReadMembers(JsonValue& value, JsonWebKey& jwk, absl::string_view& refusal) {
  return value.ForEachMember([&](absl::string_view name, JsonValue& member) {
    if (name == "key_ops") {
      if (member.kind() != JsonValue::Kind::kArray) {
        refusal = "key_ops is not a list";
        return absl::OkStatus();
      }
      const absl::StatusOr<bool> listed = ListsVerify(member);
      jwk.may_verify = listed.value_or(false);
      return listed.status();
    }
    if (name == "d" || name == "k") jwk.is_private = true;
    std::optional<std::string>* target = nullptr;
    if (name == "kid") target = &jwk.kid;
    if (name == "kty") target = &jwk.kty;
    if (name == "crv") target = &jwk.crv;
    if (name == "alg") target = &jwk.alg;
    if (name == "use") target = &jwk.use;
    if (name == "n") target = &jwk.n;
    if (name == "e") target = &jwk.e;
    if (name == "x") target = &jwk.x;
    if (name == "y") target = &jwk.y;
    if (target == nullptr) return absl::OkStatus();
    if (member.kind() == JsonValue::Kind::kString && member.string().has_value()) {
      *target = std::string(*member.string());
    } else {
      refusal = "a member of another type than text";
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<TokenKey> MakeTokenKey(const JsonWebKey& jwk) {
  if (jwk.kty != "RSA" && jwk.kty != "EC") return Invalid("kty is neither RSA nor EC");
  const bool is_rsa = jwk.kty == "RSA";
  if (jwk.is_private) return Invalid("it is a private key");
  if (jwk.use.value_or("sig") != "sig") return Invalid("use is not sig");
  if (!jwk.may_verify) return Invalid("key_ops does not allow to verify");
  if (jwk.alg.has_value() && *jwk.alg != (is_rsa ? "RS256" : "ES256")) return Invalid("alg is not that of such a key");
  if (jwk.kid.has_value() && !IsTokenKeyId(*jwk.kid)) return Invalid("kid is not 1 to 128 visible ASCII characters");
  if (is_rsa) return TokenKey::Rsa(jwk.n.value_or(""), jwk.e.value_or(""));
  if (jwk.crv != "P-256") return Invalid("crv is not P-256");
  return TokenKey::P256(jwk.x.value_or(""), jwk.y.value_or(""));
}

}  // namespace

absl::StatusOr<TokenKey> TokenKey::Rsa(absl::string_view n, absl::string_view e) {
  const std::optional<std::string> modulus_bytes = DecodeBase64Url(n);
  const std::optional<std::string> exponent_bytes = DecodeBase64Url(e);
  if (!modulus_bytes.has_value() || !exponent_bytes.has_value()) return Invalid("n or e is not canonical base64url");
  const BignumPtr modulus = NumberOf(*modulus_bytes);
  const BignumPtr exponent = NumberOf(*exponent_bytes);
  const OsslParamBldPtr parts(OSSL_PARAM_BLD_new());
  if (modulus == nullptr || exponent == nullptr || parts == nullptr) return Invalid("there is no memory for it");
  if (BN_num_bits(modulus.get()) < kMinRsaBits) return Invalid("n has less than 2048 bits");
  if (BN_num_bits(modulus.get()) > kMaxRsaBits) return Invalid("n has more than 8192 bits");
  if (BN_is_odd(modulus.get()) == 0) return Invalid("n is even");
  if (BN_is_odd(exponent.get()) == 0 || BN_is_one(exponent.get()) == 1 ||
      BN_num_bits(exponent.get()) > kMaxExponentBits) {
    return Invalid("e is not an odd number from 3 to 64 bits");
  }
  OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_N, modulus.get());
  OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_RSA_E, exponent.get());
  std::shared_ptr<EVP_PKEY> key = MakeKey("RSA", parts.get());
  if (key == nullptr) return Invalid("n and e are no RSA key");
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
  if (parts == nullptr) return Invalid("there is no memory for it");
  OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size());
  std::shared_ptr<EVP_PKEY> key = MakeKey("EC", parts.get());
  if (key == nullptr) return Invalid("x and y are no point of P-256");
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
  if (json.size() > kMaxKeySetBytes) return Invalid("the key set is too large");
  TokenKeySet set;
  bool has_list = false;
  const auto add = [&](size_t index, JsonValue& value) -> absl::Status {
    if (index == kMaxKeys) return Invalid("the key set has too many keys");
    const auto refuse = [&](absl::string_view why) {
      set.refused_.push_back(absl::StrCat("key ", index, ": ", why));
      return absl::OkStatus();
    };
    if (value.kind() != JsonValue::Kind::kObject) return refuse("not an object");
    JsonWebKey jwk;
    absl::string_view refusal;
    if (absl::Status status = ReadMembers(value, jwk, refusal); !status.ok()) return status;
    if (!refusal.empty()) return refuse(refusal);
    absl::StatusOr<TokenKey> key = MakeTokenKey(jwk);
    if (!key.ok()) return refuse(key.status().message());
    for (const Entry& entry : set.keys_) {
      if (entry.key_id != jwk.kid) continue;
      if (entry.key == *key) return absl::OkStatus();
      if (jwk.kid.has_value()) return Invalid("the key set gives one id to two different keys");
    }
    set.keys_.push_back({std::move(jwk.kid), *std::move(key)});
    return absl::OkStatus();
  };
  absl::Status status = ReadJsonObject(json, [&](JsonValue& root) {
    return root.ForEachMember([&](absl::string_view name, JsonValue& value) {
      if (name != "keys" || value.kind() != JsonValue::Kind::kArray) return absl::OkStatus();
      has_list = true;
      return value.ForEachElement(add);
    });
  });
  if (!status.ok()) return status;
  if (!has_list) return Invalid("the key set has no list of keys");
  if (set.keys_.empty()) {
    return Invalid(absl::StrCat("the key set has no key that can be used", set.refused_.empty() ? "" : "; ",
                                set.refused_.empty() ? "" : set.refused_.front()));
  }
  return set;
}

const TokenKey* TokenKeySet::Find(TokenAlgorithm algorithm, const std::optional<std::string>& key_id) const {
  const auto fits = [&](const Entry& entry) {
    return entry.key.algorithm() == algorithm && (!key_id.has_value() || entry.key_id == key_id);
  };
  const auto found = absl::c_find_if(keys_, fits);
  if (found == keys_.end() || absl::c_count_if(keys_, fits) > 1) return nullptr;
  return &found->key;
}

}  // namespace stampgate
