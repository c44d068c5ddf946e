// The newest events of the log, encoded and in memory, for the subscribers that are near the log's end.
#ifndef STAMPGATE_GATEWAY_EVENTS_TAIL_H_
#define STAMPGATE_GATEWAY_EVENTS_TAIL_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "gateway/events/encoder.h"
#include "gateway/events/page.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// A window of consecutive events. It is bounded in bytes: new events replace the oldest. Thread-safe.
class EventTail {
 public:
  explicit EventTail(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds the events after `after` that pass `filter` to `page`. Returns false, and does nothing, if the window does not
  // have the event at `after` + 1.
  bool Read(Position after, const EventFilter& filter, const PageLimits& limits, EventPage& page) const;

  // Adds consecutive events if they continue the window. Otherwise they replace it if `latest`, the position of the
  // log's newest event, is among them, and are ignored if it is not.
  void Add(const std::vector<std::shared_ptr<const EncodedEvent>>& events, Position latest);

 private:
  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const EncodedEvent>> window_;
  size_t bytes_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_TAIL_H_
