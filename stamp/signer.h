// The interface of a signer, which signs with one private key; the key may be in another process or on another machine.
#ifndef STAMPGATE_STAMP_SIGNER_H_
#define STAMPGATE_STAMP_SIGNER_H_

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/request_body.h"

namespace stampgate {

// Signs with one API key. Thread-safe.
class Signer {
 public:
  // Receives the signature as stamps contain it, or an error. The signature is the lower-case hex of the DER (ECDSA) or
  // of the 64 bytes (Ed25519).
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::string>) &&>;

  virtual ~Signer() = default;

  // The public key as stamps contain it: the hex of the compressed point (ECDSA) or of the 32 bytes (Ed25519).
  virtual absl::string_view public_key_hex() const = 0;

  // The signature scheme that the stamp states, such as "SIGNATURE_SCHEME_TK_API_P256".
  virtual absl::string_view scheme() const = 0;

  // Signs `body` and calls `done` exactly once. If the key is in this process, calls `done` before Sign returns;
  // otherwise possibly later, on another thread. `body` must exist and stay unchanged until `done` is called.
  virtual void Sign(const RequestBody& body, Done done) const = 0;

  // Whether Sign uses its thread for longer than about a tenth of a millisecond. Such a signer must not run on a thread
  // that other calls need.
  virtual bool is_slow() const { return false; }
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SIGNER_H_
