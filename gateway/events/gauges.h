// Shows in the metrics what the event log takes and how far its subscribers are behind.
#ifndef STAMPGATE_GATEWAY_EVENTS_GAUGES_H_
#define STAMPGATE_GATEWAY_EVENTS_GAUGES_H_

#include <atomic>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "gateway/events/feed.h"
#include "gateway/metrics/metrics.h"

namespace stampgate {

// One thread at a time. Does not block.
class EventGauges {
 public:
  // `feed` outlives this; `metrics` also outlives the feed. `now` is the clock of commit times.
  EventGauges(EventFeed& feed, Metrics& metrics, std::function<absl::Time()> now);

  // Shows the subscribers now, and the log when a reader has looked at it. While that is under way, no second one
  // looks.
  void Look();

 private:
  EventFeed& feed_;
  Metrics& metrics_;
  const std::function<absl::Time()> now_;
  const std::shared_ptr<std::atomic<bool>> is_asked_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_GAUGES_H_
