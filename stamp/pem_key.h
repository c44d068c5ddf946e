// Private keys in PEM.
#ifndef STAMPGATE_STAMP_PEM_KEY_H_
#define STAMPGATE_STAMP_PEM_KEY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/private_key.h"

namespace stampgate {

// Reads one unencrypted key: PKCS#8 ("PRIVATE KEY": P-256, secp256k1, Ed25519) or SEC1 ("EC PRIVATE KEY" with a named
// curve, after the "EC PARAMETERS" block that OpenSSL writes before it). The scalar goes from `text` through locked
// memory into the result and nowhere else. A public key inside must fit the private one.
//
// Errors: kInvalidArgument, with a message that says what is wrong and never what was read; otherwise those of
// DerivePublicKey.
absl::StatusOr<PrivateKey> ParsePemKey(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_PEM_KEY_H_
