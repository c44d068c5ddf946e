// Decides after which outcomes the gateway sends a request to upstream again.
#ifndef STAMPGATE_GATEWAY_ADMISSION_RETRY_POLICY_H_
#define STAMPGATE_GATEWAY_ADMISSION_RETRY_POLICY_H_

#include <cstdint>
#include <functional>
#include <optional>

#include "absl/time/time.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Why a request is sent again.
enum class RetryCause {
  kUnreachable,  // no byte was sent: the name was not resolved, the connection was refused, or TLS failed
  kBroken,       // the exchange broke or took too long after bytes were sent
  kRateLimited,  // upstream refused the request because of its rate
  kUnavailable,  // 502, 503, 504 or another status of a proxy that fails, see IsProxyFailure
  kError,        // 500
};

// What the gateway may send again. A query changes nothing. A submit is recognized by upstream if its bytes are the
// same, but the gateway sends it again after bytes were sent only if the caller has fixed the bytes: with an
// idempotency key, a timestamp or a client stamp. Otherwise the caller does not expect that the submit is carried out
// later.
enum class RequestKind { kQuery, kSubmit, kFixedSubmit };

// Returns why the request may be sent again, or nothing if it must not be. `attempts` is the number of attempts that
// have ended, at least 1, and `outcome` is the outcome of the last one.
//
//   outcome                                     query       fixed submit   other submit
//   name, connection or TLS failed              3 attempts  2 attempts     2 attempts
//   broken or too slow after bytes were sent    3           2              no
//   429 or another refusal because of the rate  3           2              no
//   502, 503, 504, and IsProxyFailure           3           2              no
//   500                                         2           no             no
//   everything else                             no          no             no
//
// Everything else includes each other response, a response that cannot be used, the end of the caller's time, and an
// exchange that continues without its caller.
std::optional<RetryCause> CauseToRetry(const UpstreamOutcome& outcome, RequestKind kind, int attempts);

// Returns how long to wait before the next attempt: at random below 100 ms, which doubles with each attempt up to 2 s.
// If upstream has stated a delay, waits for this delay too.
absl::Duration RetryDelay(const UpstreamOutcome& outcome, int attempts, const std::function<uint64_t()>& random);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_RETRY_POLICY_H_
