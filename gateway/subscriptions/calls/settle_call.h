// Handles the calls of SubscriptionService.Settle.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_SETTLE_CALL_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_SETTLE_CALL_H_

#include <grpcpp/support/byte_buffer.h>

#include "gateway/calls/trace_context.h"
#include "gateway/events/identity.h"
#include "gateway/events/response.h"
#include "gateway/subscriptions/calls/environment.h"

namespace stampgate {

// See UnaryCall::Start. Responds only when the outcome of each delivery is durable.
void Settle(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
            const grpc::ByteBuffer& request, OnEventResponse on_response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_SETTLE_CALL_H_
