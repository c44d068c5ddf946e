// A sampled call or webhook delivery, from which its spans are made.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_TRACED_CALL_H_
#define STAMPGATE_GATEWAY_TELEMETRY_TRACED_CALL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stampgate {

// The work in which a call is at one time. Each step becomes a span.
enum class CallStage : uint8_t {
  kAuthenticate,  // identify the caller
  kTranslate,     // check the request, or render the body for upstream
  kDecide,        // ask the policy
  kStore,         // store the idempotency key, or the event of a delivery
  kAudit,         // write the decision; not the time in which the store also writes
  kSign,          // stamp the body
  kQueue,         // wait for a place within upstream's rates, for the next attempt, or for a connection to upstream
  kUpstream,      // exchange the request and the response with upstream
  kMap,           // translate upstream's response
  kWait,          // wait until the activity has ended
  kVerify,        // verify the delivery
};

struct TracedStep {
  CallStage step;
  uint64_t span_id;
  absl::Duration begun;      // since the beginning of the call; the step ends when the next one begins
  int http_status = 0;       // upstream's, for kUpstream; 0 if upstream did not respond
  std::string failure = {};  // for kUpstream: why upstream did not respond; a constant such as "timeout"
};

// What the server span of a webhook delivery states. The path of the request is a secret.
struct TracedDelivery {
  bool has_tls = false;
  int http_status = 0;
  std::string outcome;  // one of Intake::Outcomes()
};

struct TracedCall {
  std::string trace_id;      // 32 hex digits
  uint64_t parent_id = 0;    // the caller's span; 0 if the caller sent no trace
  uint64_t span_id = 0;      // of the call
  std::string method;        // "/stampgate.v1.PolicyService/GetPolicy"
  std::string caller;        // the name in the config; empty for a stranger
  std::string http_method;   // of the request to upstream
  std::string url_template;  // of the request to upstream: its path; ends in "{operation}" if the caller names the end
  absl::Time begun;          // by the wall clock
  absl::Duration replied;    // when the caller got its reply, since `begun`
  absl::Duration ended;      // when the last step ended, since `begun`; later than `replied` if an exchange continued
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string error_reason;  // the reason in ErrorInfo; empty if the call did not fail
  std::vector<TracedStep> steps;
  // Set if this is a delivery and not a call. Then `method`, `caller`, `code`, `error_reason` and the request to
  // upstream have no meaning.
  std::optional<TracedDelivery> delivery;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_TRACED_CALL_H_
