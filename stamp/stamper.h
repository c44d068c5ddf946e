// Turns body bytes into a signed POST.
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

  // Signs exactly the bytes of `body` and calls `done` with a request that carries them under one X-Stamp header:
  // base64url, without padding, of {"publicKey","scheme","signature"}. `path` is not covered by the signature.
  //
  // `done` is called exactly once, when and on the thread where the signer answers; the signer is kept until `done` has
  // returned, so the last reference to it may be dropped on that thread. Errors: the signer's own, unchanged; kInternal
  // if what it answers is not hex.
  static void Stamp(std::shared_ptr<const Signer> signer, std::string path, RequestBody body, Done done);
};

}  // namespace stampgate

#endif  // STAMPGATE_STAMP_STAMPER_H_
