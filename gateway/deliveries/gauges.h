// Sets the metrics of the event log's size and age, and of how far the log's subscribers are behind.
#ifndef STAMPGATE_GATEWAY_DELIVERIES_GAUGES_H_
#define STAMPGATE_GATEWAY_DELIVERIES_GAUGES_H_

#include <atomic>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "gateway/calls/stream_slots.h"
#include "gateway/deliveries/delivery_metrics.h"
#include "gateway/feed/source.h"

namespace stampgate {

// Not thread-safe. No function blocks.
class EventGauges {
 public:
  // `source` and `subscriptions` must outlive this. `metrics` must outlive `source`. `now` is the clock with which the
  // log sets commit times.
  EventGauges(EventSource& source, const StreamSlots& subscriptions, DeliveryMetrics& metrics,
              std::function<absl::Time()> now);

  // Sets the gauge of the subscribers before Look returns. Starts a read of the log's size and age, and sets their
  // gauges when the read has ended. While such a read is in progress, further calls of Look start no second read.
  void Look();

 private:
  EventSource& source_;
  const StreamSlots& subscriptions_;
  DeliveryMetrics& metrics_;
  const std::function<absl::Time()> now_;
  const std::shared_ptr<std::atomic<bool>> is_reading_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DELIVERIES_GAUGES_H_
