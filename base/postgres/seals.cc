#include "base/postgres/seals.h"

#include <sodium.h>

#include "base/secret/sha256.h"

namespace stampgate {
namespace {

using Mac = std::array<uint8_t, 32>;
static_assert(sizeof(Mac) == crypto_auth_hmacsha256_BYTES && sizeof(Mac) == crypto_auth_hmacsha256_KEYBYTES);

Mac MacOf(absl::string_view bytes, const uint8_t* key) {
  Mac mac;
  crypto_auth_hmacsha256(mac.data(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), key);
  return mac;
}

// OpenSSL uses the processor's instructions for SHA-256, and libsodium does not: it would need four times as long for
// the content of an event.
Mac MacOfContent(absl::string_view content, const uint8_t* key) {
  const std::array<uint8_t, 32> sha256 = Sha256(content);
  return MacOf(absl::string_view(reinterpret_cast<const char*>(sha256.data()), sha256.size()), key);
}

}  // namespace

Seals::Seals(const uint8_t* key, absl::string_view purpose) : key_(MacOf(purpose, key)) {}

std::string Seals::Make(absl::string_view content) const {
  const Mac mac = MacOfContent(content, key_.data());
  return std::string(reinterpret_cast<const char*>(mac.data()), mac.size());
}

bool Seals::IsValid(absl::string_view seal, absl::string_view content) const {
  const Mac mac = MacOfContent(content, key_.data());
  return seal.size() == mac.size() && sodium_memcmp(seal.data(), mac.data(), mac.size()) == 0;
}

}  // namespace stampgate
