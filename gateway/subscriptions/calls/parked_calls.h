// Handles the calls of SubscriptionService.ListParked, RetryParked and SkipParked.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_PARKED_CALLS_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_PARKED_CALLS_H_

#include <grpcpp/support/byte_buffer.h>

#include "gateway/calls/trace_context.h"
#include "gateway/events/identity.h"
#include "gateway/events/response.h"
#include "gateway/subscriptions/calls/environment.h"

namespace stampgate {

// See UnaryCall::Start.
void ListParked(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                const grpc::ByteBuffer& request, OnEventResponse on_response);
// Both respond only when the change is durable.
void RetryParked(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                 const grpc::ByteBuffer& request, OnEventResponse on_response);
void SkipParked(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                const grpc::ByteBuffer& request, OnEventResponse on_response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_PARKED_CALLS_H_
