#include "webhooks/log/partition.h"

#include <sodium.h>

#include <array>
#include <cstdint>

#include "base/disk/big_endian.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// SipHash-2-4 with a key of zeros. Upstream chooses the names, so nobody can choose them for one partition.
size_t PartitionOf(absl::string_view name) {
  static constexpr std::array<uint8_t, crypto_shorthash_KEYBYTES> kKey = {};
  std::array<char, crypto_shorthash_BYTES> hash;
  crypto_shorthash(reinterpret_cast<uint8_t*>(hash.data()), reinterpret_cast<const uint8_t*>(name.data()), name.size(),
                   kKey.data());
  return FromBigEndian(hash.data()) % kPartitions;
}

}  // namespace stampgate
