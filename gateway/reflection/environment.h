// The objects that all streams of server reflection share.
#ifndef STAMPGATE_GATEWAY_REFLECTION_ENVIRONMENT_H_
#define STAMPGATE_GATEWAY_REFLECTION_ENVIRONMENT_H_

#include <grpcpp/server_context.h>

#include "absl/time/time.h"
#include "gateway/callers/access.h"
#include "gateway/calls/call_record.h"
#include "gateway/calls/caller_quota.h"
#include "gateway/calls/calls_in_flight.h"
#include "gateway/calls/trace_context.h"
#include "gateway/reflection/open_streams.h"

namespace stampgate {

// The environment, and every object to which it points, must outlive all streams.
struct ReflectionEnvironment {
  const CurrentAccess& access;
  CallRecorders recorders;
  CallsInFlight<grpc::CallbackServerContext>& in_flight;
  OpenStreams& streams;
  CallerQuota& quota;             // of streams
  absl::Duration end_of_streams;  // see ConnectionAges
  RandomNumber random;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_REFLECTION_ENVIRONMENT_H_
