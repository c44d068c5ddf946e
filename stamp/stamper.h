// Stamps a body: makes a signed POST of its bytes.
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

  // Signs exactly the bytes of `body` and calls `done` with a request that has them and one X-Stamp header: base64url,
  // without padding, of {"publicKey","scheme","signature"}. The signature does not cover `path`.
  //
  // Calls `done` exactly once, on the thread on which the signer calls back. Keeps the signer until `done` has
  // returned, so that thread may destroy it. Errors: the signer's own, unchanged; kInternal if its signature is not
  // hex.
  static void Stamp(std::shared_ptr<const Signer> signer, std::string path, RequestBody body, Done done);
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_STAMPER_H_
