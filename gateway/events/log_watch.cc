#include "gateway/events/log_watch.h"

#include <utility>

#include "absl/time/time.h"
#include "gateway/process/log.h"

namespace stampgate {

EventLogWatch::EventLogWatch(const EventLog& log, Metrics* metrics, std::function<void(bool hangs)> on_change)
    : log_(log), metrics_(metrics), on_change_(std::move(on_change)) {}

void EventLogWatch::Look() {
  const absl::Duration under_way = log_.WriteUnderWay();
  if (metrics_ != nullptr) metrics_->SetEventLogWrite(under_way);
  const bool hangs = under_way > kWriteHangsAfter;
  if (hangs == hangs_) return;
  hangs_ = hangs;
  if (hangs) {
    Log(Severity::kWarning, "event_log_hangs", {});
  } else {
    Log(Severity::kInfo, "event_log_works_again", {});
  }
  on_change_(hangs);
}

}  // namespace stampgate
