// Keeps the newest events of the log in memory, in encoded form, for the subscribers near the log's end.
#ifndef STAMPGATE_GATEWAY_FEED_TAIL_H_
#define STAMPGATE_GATEWAY_FEED_TAIL_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "base/threads/mutex.h"
#include "gateway/feed/encoder.h"
#include "gateway/feed/page.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// A window of consecutive events, with a maximum size in bytes. New events replace the oldest events. Thread-safe.
class EventTail {
 public:
  explicit EventTail(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds to `page` the events after `after` that pass `filter`, within `limits`. If the window does not contain the
  // event that follows `after`, does nothing and returns false.
  bool Read(const LogPoint& after, const EventFilter& filter, const PageLimits& limits, EventPage& page) const;

  // Adds the consecutive events `events`, which follow `after`, to the window if they continue it. If they do not
  // continue it, but contain the log's newest event, whose position is `latest`, replaces the window by them. In all
  // other cases, does nothing.
  void Add(const LogPoint& after, const std::vector<std::shared_ptr<const EncodedEvent>>& events, Position latest);

 private:
  // Whether the window contains, or begins after, the event at this point. A restored log can have another event there.
  bool Has(const LogPoint& point) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  mutable Mutex mutex_;
  LogPoint before_ ABSL_GUARDED_BY(mutex_);  // the event before the window
  std::deque<std::shared_ptr<const EncodedEvent>> window_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_TAIL_H_
