// Encrypts the cursor key of a log, so that the server that stores it cannot read it.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_SEALED_KEY_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_SEALED_KEY_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/secret/bytes.h"

namespace stampgate {

// Returns `key`, encrypted and authenticated under `store_key` (XSalsa20-Poly1305 with a random nonce).
std::string SealKey(const std::array<uint8_t, 32>& key, const SecretBytes& store_key);

// Decrypts a key. Errors: kFailedPrecondition if `sealed` was made under another key, or was altered.
absl::StatusOr<std::array<uint8_t, 32>> OpenSealedKey(absl::string_view sealed, const SecretBytes& store_key);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_SEALED_KEY_H_
