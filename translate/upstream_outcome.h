// The outcome of one HTTP exchange with upstream: a response or a failure.
#ifndef STAMPGATE_TRANSLATE_UPSTREAM_OUTCOME_H_
#define STAMPGATE_TRANSLATE_UPSTREAM_OUTCOME_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/time/time.h"

namespace stampgate {

// A complete HTTP response of upstream.
struct HttpAnswer {
  int status = 0;
  std::string body;
  std::optional<absl::Duration> retry_after;
  // The headers ratelimit-limit and ratelimit-remaining: how many requests upstream allows in its window, and how many
  // of them remain.
  struct RateLimit {
    int64_t limit = 0;
    int64_t remaining = 0;
  };
  std::optional<RateLimit> rate_limit = {};
  // The values of the headers Cache-Control and Age in the response to a GET; empty if absent.
  std::string cache_control = {};
  std::string age = {};
  // Keeps the memory of `body` reserved. Null if none is reserved.
  std::shared_ptr<const void> held = nullptr;
};

// The failure of an exchange from which the caller gets no complete response.
struct TransportFailure {
  enum class Cause {
    kNoSlot,       // the call timed out while it waited for a free connection; nothing was sent
    kUnreachable,  // the name was not resolved, the connection was refused, or the connect timed out
    kTls,          // the TLS handshake failed, for example because of the certificate, the host name or the version
    kTimeout,      // the call timed out while the exchange was in progress
    kCancelled,    // the caller cancelled the call
    kBroken,       // the connection was reset or closed before the response was complete
    kTooLarge,     // the response exceeds the configured limit
    kNoMemory,     // the caller holds too much of the gateway's memory to get the response
    kShutdown,     // the gateway is stopping
  };

  Cause cause = Cause::kBroken;
  // False if certainly no byte of the request's body reached upstream. True if a byte may have reached upstream.
  bool body_sent = false;
  // The HTTP library's description of the failure, for the log and the error message. It never contains a header, a
  // body or a stamp.
  std::string detail;
  // True if only the caller stopped waiting: the exchange continues, and its outcome is reported later.
  bool goes_on = false;
};

using UpstreamOutcome = std::variant<HttpAnswer, TransportFailure>;

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_UPSTREAM_OUTCOME_H_
