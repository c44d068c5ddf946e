// How the trace of a call comes in and goes back.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_TRACE_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_TRACE_H_

#include <grpcpp/server_context.h>

#include "gateway/calls/trace_context.h"

namespace stampgate {

// The caller finds the trace id here, in the trailing metadata of every answer and of every error.
inline constexpr char kRequestId[] = "x-request-id";

// The trace of the caller's `traceparent`, or a new one if there is none, or one that is not valid, or several. Adds
// its id to the call's trailing metadata: so this is called once, before Finish.
TraceContext TraceOf(grpc::CallbackServerContext& context, const RandomNumber& random);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_TRACE_H_
