// Why a delivery was rejected, and the HTTP status that its sender gets.
//
// Upstream repeats a delivery only after a network error or a 5xx. A fault that may be ours is therefore a 503. A 4xx
// means that a repetition cannot help: upstream drops the event.
#ifndef STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_
#define STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// In the order in which the verifier checks. Names that upstream's public helper uses too have the same meaning.
enum class RejectionReason {
  kMissingHeader,                  // one of the six signed headers is absent or empty
  kDuplicateHeader,                // one of the six occurs more than once
  kMalformedHeader,                // the value does not have the header's form
  kUnsupportedSignatureVersion,    // not "v1": this gateway needs an update
  kUnsupportedSignatureAlgorithm,  // not "ed25519"
  kMissingKey,                     // no usable verification key of that id, even after a refetch where one was allowed
  kInvalidVerificationKeyAlgorithm,  // the verification key is for another algorithm or version than the headers name
  kInvalidSignature,                 // the verification key did not sign this event id with this body
  kStaleTimestamp,                   // signed too long ago or in the future; our clock may be wrong
};

struct Rejection {
  RejectionReason reason = RejectionReason::kMissingHeader;
  // For the first three reasons: the header's name in lower case, never its value.
  std::string header;
};

// "missing_header", "stale_timestamp", ...: for logs and metrics.
absl::string_view Name(RejectionReason reason);

// 400, 401 or 503.
int HttpStatus(RejectionReason reason);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_VERIFICATION_REJECTION_H_
