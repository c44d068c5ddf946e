// Parses private keys in PEM.
#ifndef STAMPGATE_STAMP_PEM_KEY_H_
#define STAMPGATE_STAMP_PEM_KEY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/private_key.h"

namespace stampgate {

// Parses one unencrypted key: PKCS#8 ("PRIVATE KEY": P-256, secp256k1, Ed25519) or SEC1 ("EC PRIVATE KEY" with a named
// curve, also after the "EC PARAMETERS" block that OpenSSL writes before it). Copies the scalar from `text` to the
// result only through locked memory. If the block has a public key, it must match the private one.
//
// Errors: kInvalidArgument, with a message that names the fault and never quotes the text; otherwise those of
// DerivePublicKey.
absl::StatusOr<PrivateKey> ParsePemKey(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_PEM_KEY_H_
