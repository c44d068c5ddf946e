// The reasons for which the receiver refuses a request, and the HTTP status for each. The intake does not get such a
// request.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_

#include "absl/strings/string_view.h"

namespace stampgate {

enum class HttpRefusal {
  kMalformedHttp,      // invalid framing, or not HTTP
  kHeadTooLarge,       // a request head that exceeds kMaxHeadBytes or kMaxHeaderFields
  kNotFound,           // the target is not one of the configured paths
  kMethodNotAllowed,   // the method is not POST
  kTooLarge,           // the body exceeds ReceiverOptions::max_body_bytes
  kExpectationFailed,  // an Expect header other than "100-continue"
  kDraining,           // the receiver drains; of all refusals, upstream repeats the delivery only after this one
};

// Returns the name for logs and metrics: "not_found", "too_large", ... Returns an empty text for a number outside of
// the enum.
absl::string_view Name(HttpRefusal refusal);

int HttpStatus(HttpRefusal refusal);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_
