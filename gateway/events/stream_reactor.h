// Connects the streaming calls of the event service with gRPC's server.
#ifndef STAMPGATE_GATEWAY_EVENTS_STREAM_REACTOR_H_
#define STAMPGATE_GATEWAY_EVENTS_STREAM_REACTOR_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "gateway/events/environment.h"

namespace stampgate {

// Each function starts a call and returns its reactor, which deletes itself. Neither function blocks.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartSubscription(const EventEnvironment& environment,
                                                              grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request);
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartBodyRead(const EventEnvironment& environment,
                                                          grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_STREAM_REACTOR_H_
