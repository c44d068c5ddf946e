// Connects the unary calls of the event service with gRPC's server.
#ifndef STAMPGATE_GATEWAY_EVENTS_QUERY_REACTOR_H_
#define STAMPGATE_GATEWAY_EVENTS_QUERY_REACTOR_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "gateway/events/environment.h"

namespace stampgate {

// Each function starts a call and returns its reactor, which deletes itself. Neither function blocks.
grpc::ServerUnaryReactor* StartListEvents(const EventEnvironment& environment, grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* response);
grpc::ServerUnaryReactor* StartGetEvent(const EventEnvironment& environment, grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request, grpc::ByteBuffer* response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_QUERY_REACTOR_H_
