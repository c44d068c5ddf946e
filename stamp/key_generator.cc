#include "stamp/key_generator.h"

#include <sodium.h>

#include <cstring>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/secret/bytes.h"
#include "base/secret/file.h"
#include "stamp/private_key.h"

namespace stampgate {
namespace {

// Generates random scalars until one is between 1 and the curve's order. Reducing a random number by the order would
// make small scalars more likely.
absl::StatusOr<PublicKey> DrawKey(PrivateKey* key) {
  absl::StatusOr<PublicKey> public_key;
  do {
    randombytes_buf(key->scalar.data(), key->scalar.size());
    public_key = DerivePublicKey(*key);
  } while (absl::IsInvalidArgument(public_key.status()));
  return public_key;
}

absl::StatusOr<SecretBytes> FileText(const PrivateKey& key, const PublicKey& public_key) {
  const std::string end =
      absl::StrCat(key.curve == Curve::kEd25519 ? public_key.Hex() : "", ":", CurveName(key.curve), "\n");
  const size_t hex_bytes = 2 * key.scalar.size();
  absl::StatusOr<SecretBytes> text = SecretBytes::Create(hex_bytes + end.size());
  if (!text.ok()) return text.status();
  // sodium_bin2hex also writes a NUL after the digits; the memcpy below overwrites it.
  sodium_bin2hex(reinterpret_cast<char*>(text->data()), hex_bytes + 1, key.scalar.data(), key.scalar.size());
  std::memcpy(text->data() + hex_bytes, end.data(), end.size());
  return text;
}

absl::StatusOr<std::string> Generate(Curve curve, const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(SecretBytes scalar, SecretBytes::Create(kScalarBytes));
  PrivateKey key{curve, std::move(scalar)};
  ABSL_ASSIGN_OR_RETURN(PublicKey public_key, DrawKey(&key));
  ABSL_ASSIGN_OR_RETURN(SecretBytes text, FileText(key, public_key));
  ABSL_RETURN_IF_ERROR(WriteNewSecretFile(path, text));
  return public_key.Hex();
}

}  // namespace

absl::StatusOr<std::string> GenerateKeyFile(Curve curve, const std::string& path) {
  absl::StatusOr<std::string> public_key_hex = Generate(curve, path);
  if (public_key_hex.ok()) return public_key_hex;
  return absl::Status(public_key_hex.status().code(),
                      absl::StrCat("key file ", path, ": ", public_key_hex.status().message()));
}

}  // namespace stampgate
