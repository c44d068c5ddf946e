// Why a delivery was rejected, and with which status its sender is answered.
//
// Upstream repeats a delivery after a network error or a 5xx and after nothing else, so whatever may be our own fault
// is 503: a 4xx says that repeating cannot help, and the event is lost.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// In the order in which the verifier looks. Names that upstream's public helper has too mean the same.
enum class RejectionReason {
  kMissingHeader,                    // one of the six signed headers is absent or empty
  kDuplicateHeader,                  // one of the six came more than once
  kMalformedHeader,                  // not of the form that the header must have
  kUnsupportedSignatureVersion,      // not "v1": something for us to learn
  kUnsupportedSignatureAlgorithm,    // not "ed25519"
  kMissingKey,                       // no usable key of that id, even after asking again where that was allowed
  kInvalidVerificationKeyAlgorithm,  // the key is for another algorithm or version than the headers name
  kInvalidSignature,                 // the key did not sign this event id with this body
  kStaleTimestamp,                   // signed too long ago or ahead of now; our clock may be wrong
};

struct Rejection {
  RejectionReason reason = RejectionReason::kMissingHeader;
  // Of the first three: the header, in lower case. Never what came in.
  std::string header;
};

// "missing_header", "stale_timestamp", ...: for logs and metrics.
absl::string_view Name(RejectionReason reason);

// 400, 401 or 503.
int HttpStatus(RejectionReason reason);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_
