// Why the receiver answers a request by itself, and what it says. Nobody else sees such a request.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_

#include "absl/strings/string_view.h"

namespace stampgate {

enum class HttpRefusal {
  kMalformedHttp,      // broken framing, or no HTTP at all
  kHeadTooLarge,       // more than kMaxHeadBytes or kMaxHeaderFields
  kNotFound,           // none of the configured paths
  kMethodNotAllowed,   // not POST
  kTooLarge,           // a body over ReceiverOptions::max_body_bytes
  kExpectationFailed,  // Expect, but not "100-continue"
  kDraining,           // the only one that its sender is to repeat
};

// "not_found", "too_large", ...: for logs and metrics. Empty for what is none of them.
absl::string_view Name(HttpRefusal refusal);

int HttpStatus(HttpRefusal refusal);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_
