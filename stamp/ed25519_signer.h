// The signer for API keys on Ed25519.
#ifndef STAMPGATE_STAMP_ED25519_SIGNER_H_
#define STAMPGATE_STAMP_ED25519_SIGNER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "stamp/private_key.h"
#include "stamp/signer.h"

namespace stampgate {

// Returns a signer that calls `done` before Sign returns. It signs the body itself with pure Ed25519, so equal bodies
// get equal signatures. It holds the only copy of the seed, in locked, read-only memory; `key` may be destroyed.
// Threads sign concurrently.
//
// Errors: kInvalidArgument for a key of another curve or a bad seed; kResourceExhausted or kInternal if memory cannot
// be locked. Sign cannot fail.
absl::StatusOr<std::shared_ptr<const Signer>> MakeEd25519Signer(const PrivateKey& key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_ED25519_SIGNER_H_
