// A signing key that may live elsewhere.
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
  // Receives the signature as a stamp carries it: lower-case hex of DER (ECDSA) or of the raw 64 bytes (Ed25519).
  using Done = absl::AnyInvocable<void(absl::StatusOr<std::string>) &&>;

  virtual ~Signer() = default;

  // The public half as a stamp carries it: hex of the compressed point (ECDSA) or of the 32 bytes (Ed25519).
  virtual absl::string_view public_key_hex() const = 0;

  // The stamp's scheme, such as "SIGNATURE_SCHEME_TK_API_P256".
  virtual absl::string_view scheme() const = 0;

  // Signs `body` and calls `done` exactly once: before Sign returns where the key is at hand, or later and on another
  // thread where it is not. `body` must stay where it is until `done` is called.
  virtual void Sign(const RequestBody& body, Done done) const = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_SIGNER_H_
