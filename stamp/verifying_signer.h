// A signer that verifies each of its signatures.
#ifndef STAMPGATE_STAMP_VERIFYING_SIGNER_H_
#define STAMPGATE_STAMP_VERIFYING_SIGNER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "stamp/signer.h"

namespace stampgate {

// Returns a signer that signs with `signer` and verifies each signature with the public key of `signer` before it calls
// `done`. A memory or CPU fault can spoil a signature, and a spoiled signature can reveal the private key to anyone who
// reads it.
//
// Several threads can sign at the same time. With P-256 and Ed25519, verifying a signature takes three times as much
// CPU as signing.
//
// Errors: kInvalidArgument if the public key of `signer` is not a key of the signer's scheme. Sign fails with the
// errors of `signer`, and with kInternal if the signature does not verify.
absl::StatusOr<std::shared_ptr<const Signer>> MakeVerifyingSigner(std::shared_ptr<const Signer> signer);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_VERIFYING_SIGNER_H_
