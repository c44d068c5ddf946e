// Sets up locked memory for secrets: memory that is never swapped and never part of a core dump.
#ifndef STAMPGATE_BASE_SECRET_MEMORY_H_
#define STAMPGATE_BASE_SECRET_MEMORY_H_

#include "absl/status/status.h"

namespace stampgate {

// Prepares libsodium and OpenSSL's secure arena (1 MiB of locked memory). Only the first call does this; later calls
// return the status of the first. All code in stamp/ calls this function before it handles a key, so that no key is
// ever in unlocked memory. Thread-safe.
//
// The arena limits the number of keys and threads. For P-256 and secp256k1, each key takes 64 bytes. Each living thread
// that has signed takes up to 512 bytes, mostly for OpenSSL's random generator of that thread. When the arena is full,
// both MakeEcdsaSigner and the Sign of its signers fail.
//
// Errors: kResourceExhausted if memory cannot be locked (raise RLIMIT_MEMLOCK); kInternal if a library does not start,
// or if other code has already set up the arena, which may then be unlocked.
absl::Status InitializeKeyMemory();

// Returns the error kResourceExhausted that memory for secrets cannot be locked. The message states how much memory
// this process may lock, how much it needs, and what the operator can do.
absl::Status CannotLockMemory();

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_MEMORY_H_
