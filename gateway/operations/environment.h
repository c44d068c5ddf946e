// The parts of the gateway that every call of an operation uses.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_ENVIRONMENT_H_
#define STAMPGATE_GATEWAY_OPERATIONS_ENVIRONMENT_H_

#include <grpcpp/server_context.h>

#include <functional>

#include "absl/time/time.h"
#include "base/loop/event_loops.h"
#include "base/threads/current.h"
#include "gateway/admission/admission.h"
#include "gateway/admission/breaker.h"
#include "gateway/admission/retry_budget.h"
#include "gateway/callers/access.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/trace_context.h"
#include "gateway/operations/operation_metrics.h"
#include "gateway/operations/timestamp_allocator.h"
#include "gateway/process/worker_threads.h"
#include "gateway/store/call_store.h"
#include "gateway/upstream/client.h"
#include "gateway/waiting/activity_waits.h"
#include "translate/operation_table.h"

namespace stampgate {

// The environment must outlive all calls.
struct CallEnvironment {
  const CurrentAccess& access;
  TimestampAllocator& timestamps;
  UpstreamClient& upstream;
  Admission& admission;
  RetryBudget* retries;     // if null, the gateway sends no request again
  Breaker* submit_breaker;  // of submits; if null, the gateway sends requests however often upstream fails
  Breaker* query_breaker;   // of queries, also of those that no caller waits for; null together with the other one
  EventLoops& loops;        // run the steps of calls
  WorkerThreads& signing;   // runs slow signers
  CallsInFlight<grpc::CallbackServerContext>& in_flight;
  CallStore* store;  // if null, the gateway refuses calls with an idempotency key
  CallRecorders recorders;
  OperationMetrics& metrics;
  absl::Duration default_deadline;  // the time for upstream's part of a call whose caller has set no deadline
  absl::Duration max_deadline;
  ActivityWaits& waits;
  absl::Duration max_wait;   // how long a call waits for the end of its activity, counted from the start of the call
  bool forward_traceparent;  // whether the gateway sends the trace of a call to upstream
  std::function<absl::Time()> now;
  RandomNumber random;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_ENVIRONMENT_H_
