// Imports keys into OpenSSL.
#ifndef STAMPGATE_BASE_SECRET_IMPORT_KEY_H_
#define STAMPGATE_BASE_SECRET_IMPORT_KEY_H_

#include "base/secret/openssl_ptr.h"

namespace stampgate {

// Returns the key that has these `parts`, or null if OpenSSL does not accept them. `type` is OpenSSL's name of the kind
// of key, such as "EC". `selection` is EVP_PKEY_PUBLIC_KEY or EVP_PKEY_KEYPAIR. Leaves OpenSSL's error queue empty.
EvpPkeyPtr ImportKey(const char* type, int selection, OSSL_PARAM_BLD& parts);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_SECRET_IMPORT_KEY_H_
