// One call of EventService.Subscribe.
#ifndef STAMPGATE_GATEWAY_EVENTS_SUBSCRIPTION_H_
#define STAMPGATE_GATEWAY_EVENTS_SUBSCRIPTION_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "gateway/events/environment.h"

namespace stampgate {

// Starts the call and returns its reactor, which deletes itself. Never blocks.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartSubscription(const EventEnvironment& environment,
                                                              grpc::CallbackServerContext* context,
                                                              const grpc::ByteBuffer* request);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_SUBSCRIPTION_H_
