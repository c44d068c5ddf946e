// Why the receiver refuses a request itself, and the response. It does not hand such a request over.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_

#include "absl/strings/string_view.h"

namespace stampgate {

enum class HttpRefusal {
  kMalformedHttp,      // invalid framing, or not HTTP
  kHeadTooLarge,       // more than kMaxHeadBytes or kMaxHeaderFields
  kNotFound,           // not one of the configured paths
  kMethodNotAllowed,   // not POST
  kTooLarge,           // a body over ReceiverOptions::max_body_bytes
  kExpectationFailed,  // Expect, but not "100-continue"
  kDraining,           // the only refusal that upstream answers with a repetition
};

// "not_found", "too_large", ...: for logs and metrics. Empty for a number outside the enum.
absl::string_view Name(HttpRefusal refusal);

int HttpStatus(HttpRefusal refusal);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_
