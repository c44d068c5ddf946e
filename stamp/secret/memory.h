// Memory for private keys: never swapped, never in a core dump.
#ifndef STAMPGATE_STAMP_SECRET_MEMORY_H_
#define STAMPGATE_STAMP_SECRET_MEMORY_H_

#include "absl/status/status.h"

namespace stampgate {

// Prepares libsodium and OpenSSL's secure arena (256 KiB, locked). The first call does the work, later ones repeat its
// answer; everything in stamp/ that touches a key calls it, so a key cannot meet unlocked memory. Thread-safe.
//
// Limit: the arena holds, for P-256 and secp256k1, 64 bytes for each key and up to 512 for each living thread that
// has signed, most of it OpenSSL's random generator for that thread. When it is full, making a signer and signing fail.
//
// Errors: kResourceExhausted if memory cannot be locked (raise RLIMIT_MEMLOCK); kInternal if a library does not start
// or somebody else has set up the arena, so that nobody knows whether it is locked.
absl::Status InitializeKeyMemory();

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SECRET_MEMORY_H_
