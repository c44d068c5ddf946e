// The trace of a call: reads it from the call's metadata, and returns its id to the caller.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_TRACE_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_TRACE_H_

#include <grpcpp/server_context.h>

#include "gateway/calls/trace_context.h"

namespace stampgate {

// The name of the trailing metadata in which every response and error returns the trace id.
inline constexpr char kRequestId[] = "x-request-id";

// The trace of the caller's `traceparent`, or a new one if there is none, several, or an invalid one. Adds its id to
// the call's trailing metadata, so call it once, before Finish.
TraceContext TraceOf(grpc::CallbackServerContext& context, const RandomNumber& random);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_TRACE_H_
