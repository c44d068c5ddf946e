// The signer for API keys on Ed25519.
#ifndef STAMPGATE_STAMP_ED25519_SIGNER_H_
#define STAMPGATE_STAMP_ED25519_SIGNER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "stamp/private_key.h"
#include "stamp/signer.h"

namespace stampgate {

// Returns a signer whose Sign calls `done` before it returns. The signer signs the body itself, not a digest, with pure
// Ed25519; equal bodies get equal signatures. The signer copies the seed into locked, read-only memory, so `key` may be
// destroyed. Several threads can sign at the same time.
//
// Errors: kInvalidArgument for a key of another curve or a bad seed; kResourceExhausted or kInternal if memory cannot
// be locked. Sign cannot fail.
absl::StatusOr<std::shared_ptr<const Signer>> MakeEd25519Signer(const PrivateKey& key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_ED25519_SIGNER_H_
