#include "base/secret/bytes.h"

#include <sodium.h>

#include "absl/status/status_macros.h"
#include "base/secret/memory.h"

namespace stampgate {

absl::StatusOr<SecretBytes> SecretBytes::Create(size_t size) {
  if (size == 0) return absl::InvalidArgumentError("a secret must have at least one byte");
  ABSL_RETURN_IF_ERROR(InitializeKeyMemory());
  auto* data = static_cast<uint8_t*>(sodium_malloc(size));
  if (data == nullptr) return absl::ResourceExhaustedError("no memory for a secret");
  SecretBytes secret(data, size);
  // sodium_malloc also tries to lock the memory, but does not report whether the lock failed.
  if (sodium_mlock(data, size) != 0) return CannotLockMemory();
  sodium_memzero(data, size);
  return secret;
}

SecretBytes::~SecretBytes() { sodium_free(data_); }

void SecretBytes::MakeReadOnly() {
  if (sodium_mprotect_readonly(data_) != 0) sodium_misuse();
}

bool operator==(const SecretBytes& a, const SecretBytes& b) {
  return a.size_ == b.size_ && (a.size_ == 0 || sodium_memcmp(a.data_, b.data_, a.size_) == 0);
}

}  // namespace stampgate
