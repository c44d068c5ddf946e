#include "base/secret/symmetric_key.h"

#include <sodium.h>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

constexpr size_t kHexBytes = 2 * kSymmetricKeyBytes;

absl::Status WithPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("key file ", path, ": ", status.message()));
}

absl::StatusOr<SecretBytes> ParseKey(absl::string_view text) {
  if (absl::ConsumeSuffix(&text, "\n")) absl::ConsumeSuffix(&text, "\r");
  absl::StatusOr<SecretBytes> key = SecretBytes::Create(kSymmetricKeyBytes);
  if (!key.ok()) return key.status();
  if (text.size() != kHexBytes ||
      sodium_hex2bin(key->data(), key->size(), text.data(), text.size(), nullptr, nullptr, nullptr) != 0) {
    return absl::InvalidArgumentError("it is not 64 hex digits on one line");
  }
  return key;
}

absl::Status Generate(const std::string& path) {
  ABSL_ASSIGN_OR_RETURN(SecretBytes key, SecretBytes::Create(kSymmetricKeyBytes));
  randombytes_buf(key.data(), key.size());
  ABSL_ASSIGN_OR_RETURN(SecretBytes text, SecretBytes::Create(kHexBytes + 1));
  // sodium_bin2hex writes a NUL after the digits. The line feed then overwrites this NUL.
  sodium_bin2hex(reinterpret_cast<char*>(text.data()), text.size(), key.data(), key.size());
  text.data()[kHexBytes] = '\n';
  return WriteNewSecretFile(path, text);
}

}  // namespace

absl::StatusOr<SecretBytes> ReadSymmetricKey(const std::string& path, const SecretOwners& owners) {
  return ParseSymmetricKey(path, ReadSecretFile(path, owners));
}

absl::StatusOr<SecretBytes> ParseSymmetricKey(const std::string& path, const absl::StatusOr<SecretBytes>& text) {
  absl::StatusOr<SecretBytes> key = text.ok() ? ParseKey(text->text()) : text.status();
  if (!key.ok()) return WithPath(path, key.status());
  return key;
}

absl::Status GenerateSymmetricKey(const std::string& path) {
  const absl::Status status = Generate(path);
  return status.ok() ? status : WithPath(path, status);
}

}  // namespace stampgate
