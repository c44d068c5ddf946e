// The signer for API keys on P-256 and secp256k1.
#ifndef STAMPGATE_STAMP_ECDSA_SIGNER_H_
#define STAMPGATE_STAMP_ECDSA_SIGNER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "stamp/private_key.h"
#include "stamp/signer.h"

namespace stampgate {

// Returns a signer that calls `done` before Sign returns. It signs with ECDSA over SHA-256 of the body, in DER, with a
// fresh random nonce for each signature; S is not normalized, since upstream accepts both forms. It holds the only copy
// of the scalar, in OpenSSL's locked arena; `key` may be destroyed.
//
// Threads sign concurrently. The signer keeps as many OpenSSL contexts as were ever in use at once.
//
// Errors: kInvalidArgument for an Ed25519 key or a bad scalar; kResourceExhausted or kInternal if memory cannot be
// locked or OpenSSL fails. Sign fails with kInternal if OpenSSL fails.
absl::StatusOr<std::shared_ptr<const Signer>> MakeEcdsaSigner(const PrivateKey& key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_ECDSA_SIGNER_H_
