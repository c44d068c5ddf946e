// Connects a unary call of gRPC's server with its UnaryHandler.
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

// Makes and returns the handler of a call that belongs to `trace`.
using MakeHandler =
    absl::FunctionRef<std::shared_ptr<UnaryHandler>(const TraceContext& trace, UnaryHandler::Reply reply)>;

// Starts a call and returns its reactor, which deletes itself. `method` is the method's full name. Authenticates the
// caller, and then starts the handler that `make_handler` returns. Refuses the call while the gateway drains, or if too
// many calls are in flight. Never blocks. `method` must outlive the call.
grpc::ServerUnaryReactor* StartUnaryCall(const CallEnvironment& environment, absl::string_view method,
                                         grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response, MakeHandler make_handler);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_UNARY_CALL_H_
