// Makes the signer for a private key.
#ifndef STAMPGATE_STAMP_MAKE_SIGNER_H_
#define STAMPGATE_STAMP_MAKE_SIGNER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "stamp/private_key.h"
#include "stamp/signer.h"

namespace stampgate {

// Returns a signer for the curve of `key`, and destroys `key`, so that the signer has the only copy of the scalar.
// Errors: those of MakeEcdsaSigner and MakeEd25519Signer.
absl::StatusOr<std::shared_ptr<const Signer>> MakeSigner(PrivateKey key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_MAKE_SIGNER_H_
