// The signer for API keys on P-256 and secp256k1.
#ifndef STAMPGATE_STAMP_ECDSA_SIGNER_H_
#define STAMPGATE_STAMP_ECDSA_SIGNER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "stamp/private_key.h"
#include "stamp/signer.h"

namespace stampgate {

// Returns a signer whose Sign calls `done` before it returns. The signer signs the SHA-256 of the body with ECDSA, with
// a fresh random nonce for each signature, and returns the signature in DER. It does not normalize S, since upstream
// accepts low and high S. The signer copies the scalar into OpenSSL's locked arena, so `key` may be destroyed.
//
// Several threads can sign at the same time. Each thread needs an OpenSSL context while it signs. The signer keeps the
// contexts for later signatures, so it has as many contexts as the largest number of threads that ever signed at the
// same time.
//
// Errors: kInvalidArgument for an Ed25519 key or a bad scalar; kResourceExhausted or kInternal if memory cannot be
// locked or OpenSSL fails. Sign returns kInternal if OpenSSL fails.
absl::StatusOr<std::shared_ptr<const Signer>> MakeEcdsaSigner(const PrivateKey& key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_ECDSA_SIGNER_H_
