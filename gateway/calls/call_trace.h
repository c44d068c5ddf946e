// The trace of a call: reads it from the call's metadata, and returns its id to the caller.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_TRACE_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_TRACE_H_

#include <grpcpp/server_context.h>

#include "gateway/calls/trace_context.h"

namespace stampgate {

// The name of the trailing metadata in which every response and error returns the trace id.
inline constexpr char kRequestId[] = "x-request-id";

// Returns the trace in the caller's metadata entry "traceparent". Returns a new trace if this entry is missing, invalid
// or repeated. Adds the trace id to the call's trailing metadata, so TraceOf must be called once, before Finish.
TraceContext TraceOf(grpc::CallbackServerContext& context, const RandomNumber& random);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_TRACE_H_
