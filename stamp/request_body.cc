#include "stamp/request_body.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/secret/sha256.h"

namespace stampgate {

std::string HexDigest(const std::array<uint8_t, 32>& sha256) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(sha256.data()), sha256.size()));
}

std::string FingerprintOf(const std::array<uint8_t, 32>& sha256) {
  std::string fingerprint = HexDigest(sha256);
  fingerprint.insert(0, "sha256:");
  return fingerprint;
}

RequestBody::RequestBody(std::string bytes) : bytes_(std::move(bytes)), sha256_(Sha256(bytes_)) {}

}  // namespace stampgate
