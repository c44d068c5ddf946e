// The newest events of the log in memory, encoded: what all subscribers that keep up read.
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

// A window of consecutive events, bounded in bytes: the oldest make room. Thread-safe.
class EventTail {
 public:
  explicit EventTail(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds to `page` the events behind `after` that pass `filter`; false, with nothing done, if the window does not have
  // the event right behind `after`.
  bool Read(Position after, const EventFilter& filter, const PageLimits& limits, EventPage& page) const;

  // Takes consecutive events that go on where the window ends, or that begin a new one because `latest`, the newest of
  // the log, is among them. Others are of no use here.
  void Add(const std::vector<std::shared_ptr<const EncodedEvent>>& events, Position latest);

 private:
  const size_t max_bytes_;
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<const EncodedEvent>> window_;
  size_t bytes_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_TAIL_H_
