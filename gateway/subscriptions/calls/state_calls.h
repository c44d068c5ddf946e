// Handles the calls of SubscriptionService.GetSubscription, ListSubscriptions, Seek and DeleteSubscription, which
// return or replace the states of subscriptions.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_STATE_CALLS_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_STATE_CALLS_H_

#include <grpcpp/support/byte_buffer.h>

#include "gateway/calls/trace_context.h"
#include "gateway/events/identity.h"
#include "gateway/events/response.h"
#include "gateway/subscriptions/calls/environment.h"

namespace stampgate {

// See UnaryCall::Start.
void GetSubscription(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                     const grpc::ByteBuffer& request, OnEventResponse on_response);
void ListSubscriptions(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                       const grpc::ByteBuffer& request, OnEventResponse on_response);
// These two respond only when the change is durable.
void SeekSubscription(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                      const grpc::ByteBuffer& request, OnEventResponse on_response);
void DeleteSubscription(const SubscriptionEnvironment& environment, CallIdentity identity, const TraceContext& trace,
                        const grpc::ByteBuffer& request, OnEventResponse on_response);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_STATE_CALLS_H_
