// One call of EventService.ReadEventBody.
#ifndef STAMPGATE_GATEWAY_EVENTS_BODY_CALL_H_
#define STAMPGATE_GATEWAY_EVENTS_BODY_CALL_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include "gateway/events/environment.h"

namespace stampgate {

// Starts the call and returns its reactor, which deletes itself. Never blocks. Holds one piece of the body at a time,
// and reads no further one for a caller that may not see it any more.
grpc::ServerWriteReactor<grpc::ByteBuffer>* StartEventBodyCall(const EventEnvironment& environment,
                                                               grpc::CallbackServerContext* context,
                                                               const grpc::ByteBuffer* request);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_BODY_CALL_H_
