// What every call of an operation uses.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_ENVIRONMENT_H_
#define STAMPGATE_GATEWAY_OPERATIONS_ENVIRONMENT_H_

#include <grpcpp/server_context.h>

#include <cstddef>
#include <functional>

#include "absl/time/time.h"
#include "gateway/audit/log.h"
#include "gateway/callers/access.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/calls/trace_context.h"
#include "gateway/metrics/metrics.h"
#include "gateway/operations/timestamp_allocator.h"
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
  CallsInFlight<grpc::CallbackServerContext>& in_flight;
  DiskWaits& disk_waits;
  CallStore* store;  // null: idempotency keys are refused
  AuditLog* audit;   // null: nothing is recorded
  Metrics* metrics;  // null: nothing is counted
  CallLines* lines;  // null: nothing is logged
  absl::Duration default_deadline;
  absl::Duration max_deadline;
  size_t max_request_bytes;
  bool forward_traceparent;  // upstream gets the call's trace
  std::function<absl::Time()> now;
  RandomNumber random;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_ENVIRONMENT_H_
