// The interface of a signing key, which may be in another process or machine.
#ifndef STAMPGATE_STAMP_SIGNER_H_
#define STAMPGATE_STAMP_SIGNER_H_

#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "stamp/request_body.h"

namespace stampgate {

// One API key. Thread-safe.
class Signer {
 public:
  // Receives the signature in the form that stamps contain: lower-case hex of DER (ECDSA) or of the raw 64 bytes
  // (Ed25519).
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::string>) &&>;

  virtual ~Signer() = default;

  // The public half in the form that stamps contain: hex of the compressed point (ECDSA) or of the 32 bytes (Ed25519).
  virtual absl::string_view public_key_hex() const = 0;

  // The scheme in the stamp, such as "SIGNATURE_SCHEME_TK_API_P256".
  virtual absl::string_view scheme() const = 0;

  // Signs `body` and calls `done` exactly once: before Sign returns if the key is in this process, otherwise perhaps
  // later and on another thread. `body` must stay unchanged until `done` is called.
  virtual void Sign(const RequestBody& body, Done done) const = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SIGNER_H_
