#include "base/secret/memory.h"

#include <openssl/crypto.h>
#include <sodium.h>
#include <sys/resource.h>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

// A thread that signs uses about 256 bytes, and a TLS handshake with upstream 2 KiB, in which OpenSSL keeps the
// gateway's part of the key exchange. The arena is large enough for 400 handshakes at the same time.
constexpr size_t kArenaBytes = 1 << 20;
constexpr size_t kMinArenaBlockBytes = 16;

absl::Status Initialize() {
  if (sodium_init() < 0) return absl::InternalError("libsodium does not start");
  if (CRYPTO_secure_malloc_initialized()) {
    return absl::InternalError("other code has set up OpenSSL's secure memory");
  }
  switch (CRYPTO_secure_malloc_init(kArenaBytes, kMinArenaBlockBytes)) {
    case 1:
      return absl::OkStatus();
    case 2:  // the arena exists, but could not be locked or has no guard page
      return CannotLockMemory();
    default:
      return absl::InternalError("OpenSSL's secure memory cannot be set up");
  }
}

}  // namespace

absl::Status CannotLockMemory() {
  rlimit limit{};
  const bool is_known = getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  // While a key file is read, its content is in a locked page of its own.
  return absl::ResourceExhaustedError(absl::StrCat(
      "memory for secrets cannot be locked: this process may lock ",
      is_known ? absl::StrCat(limit.rlim_cur / 1024, " KiB") : "unlimited memory",
      " (ulimit -l) and needs 1 MiB, and 4 KiB more for each key file: set the limit RLIMIT_MEMLOCK to 2 MiB or more, "
      "or give the process CAP_IPC_LOCK"));
}

absl::Status InitializeKeyMemory() {
  static const absl::Status& status = *new absl::Status(Initialize());
  return status;
}

}  // namespace stampgate
