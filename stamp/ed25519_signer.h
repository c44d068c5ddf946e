// API keys on Ed25519.
#ifndef STAMPGATE_STAMP_ED25519_SIGNER_H_
#define STAMPGATE_STAMP_ED25519_SIGNER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "stamp/private_key.h"
#include "stamp/signer.h"

namespace stampgate {

// A signer that answers before Sign returns: pure Ed25519 over the body itself, so the same body always gives the same
// signature. The seed is held once, in locked, read-only memory, and `key` may go. Threads sign at the same time.
//
// Errors: kInvalidArgument for a key of another curve or a bad seed; kResourceExhausted or kInternal if memory cannot
// be locked. Sign cannot fail.
absl::StatusOr<std::shared_ptr<const Signer>> MakeEd25519Signer(const PrivateKey& key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_ED25519_SIGNER_H_
