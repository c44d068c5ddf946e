#include "webhooks/log/keyed_mac.h"

#include <sodium.h>

#include <algorithm>

namespace stampgate {

FullMac MacOf(const MacKey& key, absl::string_view bytes) {
  static_assert(std::tuple_size_v<MacKey> == crypto_auth_hmacsha256_KEYBYTES);
  static_assert(std::tuple_size_v<FullMac> == crypto_auth_hmacsha256_BYTES);
  FullMac mac;
  crypto_auth_hmacsha256(mac.data(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), key.data());
  return mac;
}

void Mask(const MacKey& key, const uint8_t* mac, uint8_t* hidden, size_t size) {
  std::array<char, 1 + kMacBytes> input = {'\xff'};
  std::copy_n(mac, kMacBytes, input.begin() + 1);
  const FullMac mask = MacOf(key, {input.data(), input.size()});
  for (size_t i = 0; i < std::min(size, mask.size()); ++i) hidden[i] ^= mask[i];
}

}  // namespace stampgate
