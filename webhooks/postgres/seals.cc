#include "webhooks/postgres/seals.h"

#include <sodium.h>

namespace stampgate {
namespace {

using Mac = std::array<uint8_t, 32>;
static_assert(sizeof(Mac) == crypto_auth_hmacsha256_BYTES && sizeof(Mac) == crypto_auth_hmacsha256_KEYBYTES);

Mac MacOf(absl::string_view bytes, const uint8_t* key) {
  Mac mac;
  crypto_auth_hmacsha256(mac.data(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), key);
  return mac;
}

}  // namespace

Seals::Seals(const uint8_t* key, absl::string_view purpose) : key_(MacOf(purpose, key)) {}

std::string Seals::Make(absl::string_view content) const {
  const Mac mac = MacOf(content, key_.data());
  return std::string(reinterpret_cast<const char*>(mac.data()), mac.size());
}

bool Seals::IsValid(absl::string_view seal, absl::string_view content) const {
  const Mac mac = MacOf(content, key_.data());
  return seal.size() == mac.size() && sodium_memcmp(seal.data(), mac.data(), mac.size()) == 0;
}

}  // namespace stampgate
