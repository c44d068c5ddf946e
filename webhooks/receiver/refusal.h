// The reasons for which the receiver refuses a request, and the HTTP status for each. The intake does not get such a
// request.
//
// Upstream repeats a delivery only after a network error or a 5xx status. If only a rule of the gateway refuses the
// request, the status is 503. Each other reason states why no delivery of upstream can meet it, or why a repetition
// cannot help.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_

#include "absl/strings/string_view.h"

namespace stampgate {

enum class HttpRefusal {
  kMalformedHttp,       // 400: RFC 9112 forbids the request, so that no HTTP client or proxy sends it
  kUnsupportedHttp,     // another version than HTTP/1.0 and 1.1, another encoding of the body than chunked, or a part
                        // of such an encoding that is too long
  kHeadTooLarge,        // a request head that exceeds kMaxHeadBytes or kMaxHeaderFields
  kNotFound,            // 404: the target is not one of the configured paths, of which upstream knows one
  kNoPath,              // no path is configured any more; upstream repeats the delivery, which it would not after 404
  kMethodNotAllowed,    // 405: the method is not POST; every delivery is one
  kTooLarge,            // 413: the body exceeds ReceiverOptions::max_body_bytes; a repetition has the same size
  kTooSlow,             // the body was slower than ReceiverOptions::min_bytes_per_second, or exceeded request_timeout
  kMaxBytesReached,     // deliveries use ReceiverOptions::max_bytes, and this one had to end; see BodyAccount
  kDraining,            // the receiver drains
  kProxyHeaderMissing,  // no valid PROXY header from an address of ReceiverOptions::proxies; with TLS, no response
  kProxyHeaderUnexpected,  // a PROXY header from another address
};

// Returns the name for logs and metrics: "not_found", "too_large", ... Returns an empty text for a number outside of
// the enum.
absl::string_view Name(HttpRefusal refusal);

int HttpStatus(HttpRefusal refusal);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_REFUSAL_H_
