#include "webhooks/keys/key_set.h"

#include <sodium.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "translate/json/base64url.h"
#include "translate/json/reader.h"
#include "webhooks/keys/identifier.h"

namespace stampgate {
namespace {

// Members of a JSON Web Key; null if it is not there.
struct JsonWebKey {
  std::optional<std::string> kid, kty, crv, alg, use, x, signature_algorithm, signature_version;
};

// A key that can be used, or why it cannot.
struct ReadKey {
  std::string key_id;
  VerificationKey key;
  absl::string_view refusal;
};

absl::Status ReadMembers(JsonValue& value, const std::string& member_prefix, JsonWebKey& jwk,
                         absl::string_view& refusal) {
  return value.ForEachMember([&](absl::string_view name, JsonValue& member) {
    std::optional<std::string>* target = nullptr;
    if (name == "kid") target = &jwk.kid;
    if (name == "kty") target = &jwk.kty;
    if (name == "crv") target = &jwk.crv;
    if (name == "alg") target = &jwk.alg;
    if (name == "use") target = &jwk.use;
    if (name == "x") target = &jwk.x;
    if (name == absl::StrCat(member_prefix, "_signature_algorithm")) target = &jwk.signature_algorithm;
    if (name == absl::StrCat(member_prefix, "_signature_version")) target = &jwk.signature_version;
    if (target == nullptr) return absl::OkStatus();
    if (member.kind() == JsonValue::Kind::kString && member.string().has_value()) {
      *target = std::string(*member.string());
    } else {
      refusal = "a member of another type than text";
    }
    return absl::OkStatus();
  });
}

bool DecodePublicKey(const std::string& x, std::array<uint8_t, 32>& key) {
  const std::optional<std::string> bytes = DecodeBase64Url(x);
  if (!bytes.has_value() || bytes->size() != key.size()) return false;
  std::copy(bytes->begin(), bytes->end(), key.begin());
  return true;
}

void UseMembers(JsonWebKey jwk, ReadKey& read) {
  if (jwk.kty != "OKP") {
    read.refusal = "kty is not OKP";
  } else if (jwk.crv != "Ed25519") {
    read.refusal = "crv is not Ed25519";
  } else if (jwk.alg.value_or("EdDSA") != "EdDSA") {
    read.refusal = "alg is not EdDSA";
  } else if (jwk.use.value_or("sig") != "sig") {
    read.refusal = "use is not sig";
  } else if (!jwk.kid.has_value() || !IsKeyId(*jwk.kid)) {
    read.refusal = "no kid of a form that headers can name";
  } else if (!jwk.x.has_value() || !DecodePublicKey(*jwk.x, read.key.public_key)) {
    read.refusal = "x is not 32 bytes in canonical base64url";
  } else if (crypto_core_ed25519_is_valid_point(read.key.public_key.data()) != 1) {
    read.refusal = "x is not a point of the prime-order group";
  } else {
    read.key_id = *std::move(jwk.kid);
    read.key.signature_algorithm = std::move(jwk.signature_algorithm).value_or("ed25519");
    read.key.signature_version = std::move(jwk.signature_version).value_or("v1");
  }
}

bool SameKey(const VerificationKey& a, const VerificationKey& b) {
  return std::tie(a.public_key, a.signature_algorithm, a.signature_version) ==
         std::tie(b.public_key, b.signature_algorithm, b.signature_version);
}

}  // namespace

absl::StatusOr<KeySet> KeySet::Parse(std::string json, absl::string_view operator_name) {
  if (json.size() > kMaxKeySetBytes) return absl::InvalidArgumentError("the key set is too large");
  const std::string member_prefix = absl::AsciiStrToLower(operator_name);
  KeySet set;
  bool has_list = false;
  auto add = [&](size_t index, JsonValue& value) -> absl::Status {
    if (index == kMaxKeys) return absl::InvalidArgumentError("the key set has too many keys");
    ReadKey read;
    if (value.kind() == JsonValue::Kind::kObject) {
      JsonWebKey jwk;
      if (absl::Status status = ReadMembers(value, member_prefix, jwk, read.refusal); !status.ok()) return status;
      if (read.refusal.empty()) UseMembers(std::move(jwk), read);
    } else {
      read.refusal = "not an object";
    }
    if (!read.refusal.empty()) {
      set.refused_.push_back(absl::StrCat("key ", index, ": ", read.refusal));
      return absl::OkStatus();
    }
    // As upstream's helper does: the first key with an id counts.
    const auto [known, is_new] = set.keys_.try_emplace(std::move(read.key_id), read.key);
    if (!is_new && !SameKey(known->second, read.key)) {
      set.refused_.push_back(absl::StrCat("key ", index, ": another key before it has its kid"));
    }
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
  if (!has_list) return absl::InvalidArgumentError("the key set has no list of keys");
  if (set.keys_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the key set has no key that can be used",
                                                   set.refused_.empty() ? "" : "; ",
                                                   set.refused_.empty() ? "" : set.refused_.front()));
  }
  return set;
}

const VerificationKey* KeySet::Find(absl::string_view key_id) const {
  auto found = keys_.find(key_id);
  return found == keys_.end() ? nullptr : &found->second;
}

}  // namespace stampgate
