#include "gateway/subscriptions/delivery_reason.h"

namespace stampgate {

absl::string_view NameOf(DeliveryReason reason) {
  switch (reason) {
    case DeliveryReason::kFirst:
      return "first";
    case DeliveryReason::kRetry:
      return "retry";
    case DeliveryReason::kTimeout:
      return "timeout";
    case DeliveryReason::kConsumerLeft:
      return "consumer_left";
    case DeliveryReason::kGatewayRestarted:
      return "gateway_restarted";
    case DeliveryReason::kAfterAnother:
      return "earlier_event";
    case DeliveryReason::kUnparked:
      return "unparked";
    case DeliveryReason::kSeek:
      return "seek";
  }
  return "";
}

}  // namespace stampgate
