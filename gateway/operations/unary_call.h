// A unary call of gRPC's server, whose handler does the work.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_UNARY_CALL_H_
#define STAMPGATE_GATEWAY_OPERATIONS_UNARY_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "gateway/calls/trace_context.h"
#include "gateway/operations/environment.h"
#include "gateway/operations/unary_handler.h"

namespace stampgate {

// Makes the handler of a call that belongs to `trace`.
using MakeHandler =
    absl::FunctionRef<std::shared_ptr<UnaryHandler>(const TraceContext& trace, UnaryHandler::Reply reply)>;

// Starts a call of `method`, a full name, and returns its reactor, which deletes itself. Authenticates the caller, and
// passes the call on to a handler. Never blocks. While the gateway drains it refuses the call.
grpc::ServerUnaryReactor* StartUnaryCall(const CallEnvironment& environment, absl::string_view method,
                                         grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, MakeHandler make_handler);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_UNARY_CALL_H_
