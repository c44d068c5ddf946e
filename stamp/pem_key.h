// Parses private keys in PEM.
#ifndef STAMPGATE_STAMP_PEM_KEY_H_
#define STAMPGATE_STAMP_PEM_KEY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/private_key.h"

namespace stampgate {

// Parses one unencrypted private key in PEM. The block is PKCS#8 ("PRIVATE KEY"; P-256, secp256k1 or Ed25519) or SEC1
// ("EC PRIVATE KEY" with a named curve). An "EC PARAMETERS" block, as OpenSSL writes it, may precede a SEC1 block. If
// the block contains a public key, this public key must belong to the private key. The scalar is copied only to locked
// memory.
//
// Errors: kInvalidArgument, with a message that names the fault and never quotes `text`; those of SecretBytes::Create
// and DerivePublicKey.
absl::StatusOr<PrivateKey> ParsePemKey(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_PEM_KEY_H_
