#include "base/postgres/holder_secret.h"

#include <sodium.h>

#include <array>
#include <cstdint>

#include "base/secret/sha256.h"

namespace stampgate {

std::string NewHolderSecret() {
  std::string secret(32, '\0');
  randombytes_buf(secret.data(), secret.size());
  return secret;
}

std::string HolderNameOf(absl::string_view secret) {
  const std::array<uint8_t, 32> name = Sha256(secret);
  return std::string(reinterpret_cast<const char*>(name.data()), name.size());
}

}  // namespace stampgate
