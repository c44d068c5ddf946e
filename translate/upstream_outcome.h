// How one HTTP exchange with upstream ended; the upstream client returns it, and the error table maps it.
#ifndef STAMPGATE_TRANSLATE_UPSTREAM_OUTCOME_H_
#define STAMPGATE_TRANSLATE_UPSTREAM_OUTCOME_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/time/time.h"

namespace stampgate {

// Upstream answered with a complete HTTP response.
struct HttpAnswer {
  int status = 0;
  std::string body;
  std::optional<absl::Duration> retry_after;
  // For a GET: the values of these response headers, empty if absent.
  std::string cache_control = {};
  std::string age = {};
};

// There is no complete response.
struct TransportFailure {
  enum class Cause {
    kNoPlace,      // all connections that the call may use stayed busy until its time ended; nothing was sent
    kUnreachable,  // the name was not resolved, the connection was refused, or connecting timed out
    kTls,          // the TLS handshake failed: certificate, host name or version
    kTimeout,      // the call's time ended
    kCancelled,    // the caller cancelled
    kBroken,       // the connection ended early: reset or closed
    kTooLarge,     // the response is larger than the configured limit
    kShutdown,     // the gateway is stopping
  };

  Cause cause = Cause::kBroken;
  // Whether a byte of the body may have reached upstream. False is certain; true is only possible.
  bool body_sent = false;
  // The HTTP library's text, for the log and the error message. Never holds a header, a body or a stamp.
  std::string detail;
  // True if only the caller's wait has ended: the exchange continues, and its own outcome comes later.
  bool goes_on = false;
};

using UpstreamOutcome = std::variant<HttpAnswer, TransportFailure>;

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_UPSTREAM_OUTCOME_H_
