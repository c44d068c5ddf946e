// Handles the unary calls of the event service. Does not depend on gRPC's server.
#ifndef STAMPGATE_GATEWAY_EVENTS_QUERY_H_
#define STAMPGATE_GATEWAY_EVENTS_QUERY_H_

#include <grpcpp/support/byte_buffer.h>

#include "gateway/calls/trace_context.h"
#include "gateway/events/environment.h"
#include "gateway/events/identity.h"
#include "gateway/events/response.h"

namespace stampgate {

// Each function handles one call of the method with its name, and does not block. `environment`, `request` and the
// objects to which `identity` refers must stay valid until `on_response` is called. Each record of the call contains
// the id of `trace`.
void ListEvents(const EventEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                const grpc::ByteBuffer& request, OnEventResponse on_response);
void GetEvent(const EventEnvironment& environment, CallIdentity identity, const TraceContext& trace,
              const grpc::ByteBuffer& request, OnEventResponse on_response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_QUERY_H_
