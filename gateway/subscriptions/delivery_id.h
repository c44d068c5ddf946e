// The identity of a delivery of a shared subscription.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_DELIVERY_ID_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_DELIVERY_ID_H_

#include <cstddef>
#include <cstdint>

#include "webhooks/log/event_log.h"

namespace stampgate {

// What a consumer must name to settle a delivery. The public token contains it.
struct DeliveryId {
  size_t partition = 0;  // of the event's key
  Position position = 0;
  int64_t number = 0;  // see SharedSubscription::Delivery
  int64_t incarnation = 0;

  friend bool operator==(const DeliveryId&, const DeliveryId&) = default;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_DELIVERY_ID_H_
