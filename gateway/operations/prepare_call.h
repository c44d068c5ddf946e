// The call of StampService.Prepare.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_PREPARE_CALL_H_
#define STAMPGATE_GATEWAY_OPERATIONS_PREPARE_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "gateway/operations/environment.h"

namespace stampgate {

inline constexpr char kPrepare[] = "/stampgate.v1.StampService/Prepare";

// Starts the call and returns its reactor, which deletes itself. Never blocks. Nothing is stamped or sent here; but the
// caller gets a body to have stamped, so that is recorded as a call is.
grpc::ServerUnaryReactor* StartPrepareCall(const CallEnvironment& environment, grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request, grpc::ByteBuffer* response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_PREPARE_CALL_H_
