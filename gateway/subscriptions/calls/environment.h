// The objects that all calls of the subscription service share.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_ENVIRONMENT_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_ENVIRONMENT_H_

#include "gateway/events/environment.h"
#include "gateway/subscriptions/calls/departures.h"
#include "gateway/subscriptions/calls/messages.h"
#include "gateway/subscriptions/subscription_set.h"

namespace stampgate {

// The environment, and every object to which it points, must outlive all calls.
struct SubscriptionEnvironment {
  const EventEnvironment& events;
  const SubscriptionMessages& messages;
  Departures& departures;
  // Null as long as the event log is not open, and if it cannot store subscriptions. There are no subscriptions then.
  SubscriptionSet* subscriptions = nullptr;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_ENVIRONMENT_H_
