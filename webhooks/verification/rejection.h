// The reasons for which deliveries are rejected, and the HTTP status for each.
//
// Upstream repeats a delivery only after a network error or a 5xx status. If the fault can be the gateway's, or if the
// gateway's rule can be narrower than upstream's, the status is therefore 503. If a repetition cannot help, the status
// is 4xx, and upstream drops the event. Each of these reasons states why no delivery of upstream can have the fault.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// The reasons, in the order in which the verifier checks them; it checks for kUnsupportedIdentifier twice. If
// upstream's public helper also uses a name, the name has the same meaning in that helper.
enum class RejectionReason {
  kUnsupportedSignatureVersion,    // not "v1"; the gateway may need an update
  kUnsupportedSignatureAlgorithm,  // not "ed25519"
  kMissingHeader,                  // 400: one of the six headers of the scheme "v1" is absent or empty
  kDuplicateHeader,                // 400: one of them occurs more than once; upstream's own helper refuses this too
  kMalformedHeader,                // 400: the timestamp is no number of milliseconds, or the signature is not 64 bytes
                                   // in hex, as the scheme "v1" with "ed25519" has them
  kUnsupportedIdentifier,          // the form of the event id or the key id, or the signed bytes are ambiguous with it
  kMissingKey,                     // no usable key has the named id, even after a new fetch if one was allowed
  kInvalidVerificationKeyAlgorithm,  // the key is for another algorithm or version than the headers name
  kInvalidSignature,                 // 401: the key did not sign this event id with this body
  kStaleTimestamp,                   // signed too long ago or in the future; the gateway's clock may be wrong
};

struct Rejection {
  RejectionReason reason = RejectionReason::kMissingHeader;
  // The name of the header that has the fault, in lower case, never its value. Empty if the fault is in no single
  // header.
  std::string header;
};

// Returns the name for logs and metrics: "missing_header", "stale_timestamp", ...
absl::string_view Name(RejectionReason reason);

// Returns 400, 401 or 503.
int HttpStatus(RejectionReason reason);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_
