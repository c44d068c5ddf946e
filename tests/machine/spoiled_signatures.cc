// A machine that spoils each signature: LD_PRELOAD this into the process under test. This library flips one bit of each
// signature that OpenSSL and libsodium return.
#include <openssl/evp.h>
#include <sodium.h>

#include "tests/machine/next.h"

int EVP_PKEY_sign(EVP_PKEY_CTX* ctx, unsigned char* signature, size_t* size, const unsigned char* digest,
                  size_t digest_size) {
  const int result = NEXT(EVP_PKEY_sign)(ctx, signature, size, digest, digest_size);
  if (result == 1 && signature != nullptr) signature[*size - 1] ^= 1;
  return result;
}

int crypto_sign_detached(unsigned char* signature, unsigned long long* size, const unsigned char* message,
                         unsigned long long message_size, const unsigned char* key) {
  const int result = NEXT(crypto_sign_detached)(signature, size, message, message_size, key);
  signature[crypto_sign_BYTES - 1] ^= 1;
  return result;
}
