// The reasons for which deliveries are rejected, and the HTTP status for each.
//
// Upstream repeats a delivery only after a network error or a 5xx status. If the fault can be the gateway's, the status
// is therefore 503. If a repetition cannot help, the status is 4xx, and upstream drops the event.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// The reasons, in the order in which the verifier checks them. If upstream's public helper also uses a name, the name
// has the same meaning in that helper.
enum class RejectionReason {
  kMissingHeader,                    // one of the six signed headers is absent or empty
  kDuplicateHeader,                  // one of the six signed headers occurs more than once
  kMalformedHeader,                  // the value of one of the six signed headers has the wrong form
  kUnsupportedSignatureVersion,      // not "v1"; the gateway may need an update
  kUnsupportedSignatureAlgorithm,    // not "ed25519"
  kMissingKey,                       // no usable key has the named id, even after a new fetch if one was allowed
  kInvalidVerificationKeyAlgorithm,  // the key is for another algorithm or version than the headers name
  kInvalidSignature,                 // the key did not sign this event id with this body
  kStaleTimestamp,                   // signed too long ago or in the future; the gateway's clock may be wrong
};

struct Rejection {
  RejectionReason reason = RejectionReason::kMissingHeader;
  // For the first three reasons: the header's name in lower case, never its value.
  std::string header;
};

// Returns the name for logs and metrics: "missing_header", "stale_timestamp", ...
absl::string_view Name(RejectionReason reason);

// Returns 400, 401 or 503.
int HttpStatus(RejectionReason reason);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_
