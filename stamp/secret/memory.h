// Sets up memory for private keys that is never swapped and never in a core dump.
#ifndef STAMPGATE_STAMP_SECRET_MEMORY_H_
#define STAMPGATE_STAMP_SECRET_MEMORY_H_

#include "absl/status/status.h"

namespace stampgate {

// Prepares libsodium and OpenSSL's secure arena (256 KiB, locked). The first call does it; later calls return the same
// status. All code in stamp/ that handles a key calls it first, so that no key is ever in unlocked memory. Thread-safe.
//
// Limit: for P-256 and secp256k1 the arena holds 64 bytes for each key and up to 512 bytes for each living thread that
// has signed, mostly OpenSSL's random generator for that thread. When it is full, making a signer and signing fail.
//
// Errors: kResourceExhausted if memory cannot be locked (raise RLIMIT_MEMLOCK); kInternal if a library does not start,
// or if other code has set up the arena, which may then not be locked.
absl::Status InitializeKeyMemory();

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SECRET_MEMORY_H_
