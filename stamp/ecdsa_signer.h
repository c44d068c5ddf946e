// API keys on P-256 and secp256k1.
#ifndef STAMPGATE_STAMP_ECDSA_SIGNER_H_
#define STAMPGATE_STAMP_ECDSA_SIGNER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "stamp/private_key.h"
#include "stamp/signer.h"

namespace stampgate {

// A signer that answers before Sign returns: ECDSA over SHA-256 of the body, DER, S not normalised (upstream takes
// both), a fresh random nonce for each signature. The scalar is held once, in OpenSSL's locked arena, and `key` may go.
//
// Threads sign at the same time. The signer keeps as many OpenSSL contexts as were ever busy at once.
//
// Errors: kInvalidArgument for an Ed25519 key or a bad scalar; kResourceExhausted or kInternal if memory cannot be
// locked or OpenSSL fails. Sign gives kInternal if OpenSSL fails.
absl::StatusOr<std::shared_ptr<const Signer>> MakeEcdsaSigner(const PrivateKey& key);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_ECDSA_SIGNER_H_
