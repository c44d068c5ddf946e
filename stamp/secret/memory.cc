#include "stamp/secret/memory.h"

#include <openssl/crypto.h>
#include <sodium.h>

namespace stampgate {
namespace {

// 64 KiB were full with 256 threads.
constexpr size_t kArenaBytes = 262144;
constexpr size_t kMinArenaBlockBytes = 16;

absl::Status Initialize() {
  if (sodium_init() < 0) return absl::InternalError("libsodium does not start");
  if (CRYPTO_secure_malloc_initialized()) {
    return absl::InternalError("OpenSSL's secure memory has been set up by somebody else");
  }
  switch (CRYPTO_secure_malloc_init(kArenaBytes, kMinArenaBlockBytes)) {
    case 1:
      return absl::OkStatus();
    case 2:  // The arena is there, but mlock or a guard page failed.
      return absl::ResourceExhaustedError("memory for private keys cannot be locked: raise RLIMIT_MEMLOCK");
    default:
      return absl::InternalError("OpenSSL's secure memory cannot be set up");
  }
}

}  // namespace

absl::Status InitializeKeyMemory() {
  static const absl::Status& status = *new absl::Status(Initialize());
  return status;
}

}  // namespace stampgate
