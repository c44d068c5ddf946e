// Connects unary calls with gRPC's server.
#ifndef STAMPGATE_GATEWAY_EVENTS_QUERY_REACTOR_H_
#define STAMPGATE_GATEWAY_EVENTS_QUERY_REACTOR_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "absl/functional/function_ref.h"
#include "gateway/calls/trace_context.h"
#include "gateway/events/environment.h"
#include "gateway/events/identity.h"
#include "gateway/events/response.h"

namespace stampgate {

// Handles a call, and does not block.
using HandleQuery =
    absl::FunctionRef<void(CallIdentity identity, const TraceContext& trace, OnEventResponse on_response)>;

// Starts a call of `method`, which `handle` handles, and returns its reactor, which deletes itself. Does not block.
grpc::ServerUnaryReactor* StartQuery(const EventEnvironment& environment, grpc::CallbackServerContext& context,
                                     const char* method, grpc::ByteBuffer* response, HandleQuery handle);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_QUERY_REACTOR_H_
