// How one HTTP exchange with upstream ended: the words that the upstream client and the error table share.
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
  // Of a GET: the headers of these names, empty if there are none.
  std::string cache_control = {};
  std::string age = {};
};

// There is no complete response.
struct TransportFailure {
  enum class Cause {
    kNoPlace,      // every connection that the call may take was taken until its time ended; nothing was sent
    kUnreachable,  // name not resolved, connection refused, or connecting took too long
    kTls,          // the TLS handshake failed: certificate, host name or version
    kTimeout,      // the call's time ended
    kCancelled,    // the caller went away
    kBroken,       // the connection ended early: reset, closed or cut
    kTooLarge,     // the response is larger than the configured limit
    kShutdown,     // the gateway is stopping
  };

  Cause cause = Cause::kBroken;
  // Whether a byte of the body may have reached upstream. False is a promise, true is a possibility.
  bool body_sent = false;
  // What the HTTP library says, for the log and the error message. Never holds a header, a body or a stamp.
  std::string detail;
  // True if only the caller's wait has ended: the exchange goes on, and its own outcome comes later.
  bool goes_on = false;
};

using UpstreamOutcome = std::variant<HttpAnswer, TransportFailure>;

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_UPSTREAM_OUTCOME_H_
