// Stamps the body of a request with a signer: makes the StampedRequest that is sent upstream.
#ifndef STAMPGATE_STAMP_STAMPER_H_
#define STAMPGATE_STAMP_STAMPER_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "stamp/request_body.h"
#include "stamp/signer.h"
#include "stamp/stamped_request.h"

namespace stampgate {

class Stamper {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<StampedRequest>) &&>;

  // Signs exactly the bytes of `body`. Calls `done` with a request that has these bytes and one X-Stamp header. The
  // value of this header is the base64url without padding of a JSON object, which has the members "publicKey", "scheme"
  // and "signature". The signature does not cover `path`.
  //
  // Calls `done` exactly once, on the thread on which the signer returns its signature. Holds a reference to the signer
  // until `done` has returned, so the signer may be destroyed on that thread. Errors: those of the signer, unchanged;
  // kInternal if its signature or public key is not hex.
  static void Stamp(std::shared_ptr<const Signer> signer, std::string path, RequestBody body, Done done);
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_STAMPER_H_
