// One unary call of an operation, from the caller's bytes to the caller's answer.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_UNARY_CALL_H_
#define STAMPGATE_GATEWAY_OPERATIONS_UNARY_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "gateway/operations/environment.h"
#include "translate/operation_table.h"

namespace stampgate {

// Starts the call and returns its reactor, which deletes itself. Never blocks.
grpc::ServerUnaryReactor* StartUnaryCall(const CallEnvironment& environment, const Operation& operation,
                                         grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_UNARY_CALL_H_
