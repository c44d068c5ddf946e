// Reports when the event log's disk hangs.
#ifndef STAMPGATE_GATEWAY_EVENTS_LOG_WATCH_H_
#define STAMPGATE_GATEWAY_EVENTS_LOG_WATCH_H_

#include <functional>

#include "gateway/metrics/metrics.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Not thread-safe.
class EventLogWatch {
 public:
  // `metrics` may be null. `log` and `metrics` must outlive this.
  EventLogWatch(const EventLog& log, Metrics* metrics, std::function<void(bool hangs)> on_change);

  // Sets the metric of how long the log's current write has taken. When this time first exceeds kWriteHangsAfter, logs
  // that the write hangs, and calls `on_change` with true. When this time no longer exceeds the limit, logs that the
  // log works again, and calls `on_change` with false.
  void Look();

 private:
  const EventLog& log_;
  Metrics* const metrics_;
  const std::function<void(bool hangs)> on_change_;
  bool hangs_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_LOG_WATCH_H_
