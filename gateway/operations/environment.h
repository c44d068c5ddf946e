// What every call of an operation uses.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_ENVIRONMENT_H_
#define STAMPGATE_GATEWAY_OPERATIONS_ENVIRONMENT_H_

#include <grpcpp/server_context.h>

#include <cstddef>
#include <functional>

#include "absl/time/time.h"
#include "gateway/callers/access.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/trace_context.h"
#include "gateway/operations/timestamp_allocator.h"
#include "gateway/process/worker_threads.h"
#include "gateway/store/call_store.h"
#include "gateway/upstream/client.h"
#include "translate/operation_table.h"

namespace stampgate {

// Outlives all calls.
struct CallEnvironment {
  const OperationTable& operations;
  const CurrentAccess& access;
  TimestampAllocator& timestamps;
  UpstreamClient& upstream;
  WorkerThreads& signing;  // for calls that come from a thread of the disk
  CallsInFlight<grpc::CallbackServerContext>& in_flight;
  CallStore* store;  // null: idempotency keys are refused
  CallRecorders recorders;
  absl::Duration default_deadline;
  absl::Duration max_deadline;
  size_t max_request_bytes;
  bool forward_traceparent;  // upstream gets the call's trace
  std::function<absl::Time()> now;
  RandomNumber random;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_ENVIRONMENT_H_
