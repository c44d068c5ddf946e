// Why a shared subscription sends an event.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_DELIVERY_REASON_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_DELIVERY_REASON_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// Between two deliveries of one event there is always one of the reasons after kFirst.
enum class DeliveryReason {
  kFirst,
  kRetry,             // a consumer settled the delivery before with RETRY
  kTimeout,           // the time of the delivery before was over
  kConsumerLeft,      // the consumer cancelled its stream
  kGatewayRestarted,  // the gateway was started again, and no consumer settled the delivery before in time
  kAfterAnother,      // an event before it of its key is sent again for one of these reasons
  kUnparked,          // it was parked, and somebody asked for a retry
  kSeek,              // the subscription was moved to a place before it, at which it had been before
};

// Returns the name for metrics, such as "first"; an empty text for a number outside of the enum.
absl::string_view NameOf(DeliveryReason reason);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_DELIVERY_REASON_H_
