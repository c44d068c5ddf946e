// Reports when the event log's disk hangs.
#ifndef STAMPGATE_GATEWAY_EVENTS_LOG_WATCH_H_
#define STAMPGATE_GATEWAY_EVENTS_LOG_WATCH_H_

#include <functional>

#include "gateway/metrics/metrics.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// One thread at a time.
class EventLogWatch {
 public:
  // `log` and `metrics`, which may be null, outlive this.
  EventLogWatch(const EventLog& log, Metrics* metrics, std::function<void(bool hangs)> on_change);

  // Shows in the metrics for how long the log has been writing. Calls `on_change` with true, and logs it, when that is
  // longer than kWriteHangsAfter, and with false when it is so no longer.
  void Look();

 private:
  const EventLog& log_;
  Metrics* const metrics_;
  const std::function<void(bool hangs)> on_change_;
  bool hangs_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_LOG_WATCH_H_
