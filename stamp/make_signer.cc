#include "stamp/make_signer.h"

#include "stamp/ecdsa_signer.h"
#include "stamp/ed25519_signer.h"

namespace stampgate {

absl::StatusOr<std::shared_ptr<const Signer>> MakeSigner(PrivateKey key) {
  return key.curve == Curve::kEd25519 ? MakeEd25519Signer(key) : MakeEcdsaSigner(key);
}

}  // namespace stampgate
