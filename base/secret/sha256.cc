#include "base/secret/sha256.h"

#include <openssl/evp.h>

#include "absl/base/internal/raw_logging.h"

namespace stampgate {

std::array<uint8_t, 32> Sha256(absl::string_view data) {
  // Looks the algorithm up only once. OpenSSL's SHA256() looks it up by name on every call.
  static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::array<uint8_t, 32> digest;
  unsigned int size = 0;
  bool ok = sha256 != nullptr && EVP_Digest(data.data(), data.size(), digest.data(), &size, sha256, nullptr) == 1;
  ABSL_RAW_CHECK(ok && size == digest.size(), "OpenSSL cannot compute SHA-256");
  return digest;
}

}  // namespace stampgate
