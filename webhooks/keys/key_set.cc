#include "webhooks/keys/key_set.h"

#include <sodium.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/json/base64url.h"
#include "webhooks/keys/identifier.h"
#include "webhooks/keys/jwk_set.h"

namespace stampgate {
namespace {

absl::Status Unfit(absl::string_view why) { return absl::InvalidArgumentError(why); }

bool DecodePublicKey(absl::string_view x, std::array<uint8_t, 32>& key) {
  const std::optional<std::string> bytes = DecodeBase64Url(x);
  if (!bytes.has_value() || bytes->size() != key.size()) return false;
  std::copy(bytes->begin(), bytes->end(), key.begin());
  return true;
}

}  // namespace

absl::StatusOr<KeySet> KeySet::Parse(std::string json, absl::string_view operator_name) {
  const std::string prefix = absl::AsciiStrToLower(operator_name);
  const std::string algorithm = absl::StrCat(prefix, "_signature_algorithm");
  const std::string version = absl::StrCat(prefix, "_signature_version");
  const auto make = [&](const JsonWebKey& jwk) -> absl::StatusOr<VerificationKey> {
    if (jwk.Text("kty") != "OKP") return Unfit("kty is not OKP");
    if (jwk.Text("crv") != "Ed25519") return Unfit("crv is not Ed25519");
    if (jwk.Text("alg").value_or("EdDSA") != "EdDSA") return Unfit("alg is not EdDSA");
    if (jwk.Text("use").value_or("sig") != "sig") return Unfit("use is not sig");
    if (!IsIdentifier(jwk.Text("kid").value_or(""))) return Unfit("kid is missing or not 1 to 1024 visible characters");
    VerificationKey key;
    if (!DecodePublicKey(jwk.Text("x").value_or(""), key.public_key)) {
      return Unfit("x is not 32 bytes in canonical base64url");
    }
    if (crypto_core_ed25519_is_valid_point(key.public_key.data()) != 1) {
      return Unfit("x is not a point of the prime-order group");
    }
    key.signature_algorithm = std::string(jwk.Text(algorithm).value_or("ed25519"));
    key.signature_version = std::string(jwk.Text(version).value_or("v1"));
    return key;
  };
  // If two keys have the same id, the first key is used, as in upstream's helper.
  ABSL_ASSIGN_OR_RETURN(
      JwkSet<VerificationKey> read,
      ReadJwkSet<VerificationKey>(std::move(json), {"kty", "crv", "alg", "use", "x", algorithm, version},
                                  SameId::kFirstKeyCounts, make));
  KeySet set;
  for (JwkSet<VerificationKey>::Entry& entry : read.keys) {
    set.keys_.emplace(*std::move(entry.key_id), std::move(entry.key));
  }
  set.refused_ = std::move(read.refused);
  return set;
}

const VerificationKey* KeySet::Find(absl::string_view key_id) const {
  auto found = keys_.find(key_id);
  return found == keys_.end() ? nullptr : &found->second;
}

}  // namespace stampgate
