#include "webhooks/log/postgres/sealed_key.h"

#include <sodium.h>

#include <cstddef>

namespace stampgate {
namespace {

constexpr size_t kNonceBytes = crypto_secretbox_NONCEBYTES;

const uint8_t* BytesOf(absl::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }

}  // namespace

std::string SealKey(const std::array<uint8_t, 32>& key, const SecretBytes& store_key) {
  std::string sealed(kNonceBytes + crypto_secretbox_MACBYTES + key.size(), '\0');
  auto* bytes = reinterpret_cast<uint8_t*>(sealed.data());
  randombytes_buf(bytes, kNonceBytes);
  crypto_secretbox_easy(bytes + kNonceBytes, key.data(), key.size(), bytes, store_key.data());
  return sealed;
}

absl::StatusOr<std::array<uint8_t, 32>> OpenSealedKey(absl::string_view sealed, const SecretBytes& store_key) {
  std::array<uint8_t, 32> key = {};
  if (sealed.size() != kNonceBytes + crypto_secretbox_MACBYTES + key.size() ||
      crypto_secretbox_open_easy(key.data(), BytesOf(sealed) + kNonceBytes, sealed.size() - kNonceBytes,
                                 BytesOf(sealed), store_key.data()) != 0) {
    return absl::FailedPreconditionError("the store's key file is not the one with which the store was created");
  }
  return key;
}

}  // namespace stampgate
