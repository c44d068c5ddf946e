#include "stamp/key_file.h"

#include <sodium.h>

#include <optional>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/secret/file.h"
#include "stamp/pem_key.h"

namespace stampgate {
namespace {

absl::StatusOr<PrivateKey> ParseHexKey(absl::string_view text) {
  const size_t colon = text.find(':');
  std::optional<Curve> curve = Curve::kP256;
  if (colon != absl::string_view::npos) {
    curve = ParseCurve(text.substr(colon + 1));
    if (!curve) return absl::InvalidArgumentError("the curve after the colon is not p256, secp256k1 or ed25519");
    text = text.substr(0, colon);
  }
  const bool with_public_key = *curve == Curve::kEd25519 && text.size() == 4 * kScalarBytes;
  if (text.size() != 2 * kScalarBytes && !with_public_key) {
    return absl::InvalidArgumentError(
        "it is neither PEM nor <hex>[:<curve>] with 64 hex digits (64 or 128 for ed25519)");
  }
  ABSL_ASSIGN_OR_RETURN(SecretBytes scalar, SecretBytes::Create(kScalarBytes));
  std::string public_key(with_public_key ? kScalarBytes : 0, '\0');
  absl::string_view scalar_hex = text.substr(0, 2 * kScalarBytes);
  absl::string_view public_hex = text.substr(2 * kScalarBytes);
  if (sodium_hex2bin(scalar.data(), scalar.size(), scalar_hex.data(), scalar_hex.size(), nullptr, nullptr, nullptr) !=
          0 ||
      sodium_hex2bin(reinterpret_cast<uint8_t*>(public_key.data()), public_key.size(), public_hex.data(),
                     public_hex.size(), nullptr, nullptr, nullptr) != 0) {
    return absl::InvalidArgumentError("it has a character that is not a hex digit where hex digits are expected");
  }
  PrivateKey key{*curve, std::move(scalar)};
  ABSL_ASSIGN_OR_RETURN(PublicKey derived, DerivePublicKey(key));
  if (with_public_key && !derived.Matches(public_key)) {
    return absl::InvalidArgumentError("its public key does not belong to its private key");
  }
  return key;
}

}  // namespace

absl::StatusOr<PrivateKey> ParseKeyText(absl::string_view text) {
  if (absl::StartsWith(text, "-----BEGIN ")) return ParsePemKey(text);
  if (absl::StrContains(text, "-----BEGIN ")) return absl::InvalidArgumentError("it has text before the PEM block");
  // Removes at most one line end, which editors append. Does not remove other white space at the end, which can be a
  // sign of a damaged file.
  if (absl::ConsumeSuffix(&text, "\n")) absl::ConsumeSuffix(&text, "\r");
  return ParseHexKey(text);
}

absl::StatusOr<PrivateKey> ReadKeyFile(const std::string& path) { return ParseKeyFile(path, ReadSecretFile(path)); }

absl::StatusOr<PrivateKey> ParseKeyFile(const std::string& path, const absl::StatusOr<SecretBytes>& bytes) {
  absl::StatusOr<PrivateKey> key = bytes.ok() ? ParseKeyText(bytes->text()) : bytes.status();
  if (key.ok()) return key;
  return absl::Status(key.status().code(), absl::StrCat("key file ", path, ": ", key.status().message()));
}

}  // namespace stampgate
