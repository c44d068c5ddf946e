#include "gateway/events/gauges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

EventGauges::EventGauges(EventFeed& feed, Metrics& metrics, std::function<absl::Time()> now)
    : feed_(feed), metrics_(metrics), now_(std::move(now)) {}

void EventGauges::Look() {
  const std::optional<Position> furthest = feed_.places().Furthest();
  const Position latest = feed_.latest();
  // A subscriber may have read what the feed is about to hear of.
  metrics_.SetSubscriberLag(std::max<Position>(latest - furthest.value_or(latest), 0));
  if (is_asked_->exchange(true)) return;
  feed_.Run([&metrics = metrics_, now = now_(), is_asked = is_asked_](EventReader& reader) {
    const absl::StatusOr<LogUsage> usage = reader.Usage();
    *is_asked = false;
    if (!usage.ok()) return;  // readers get the error
    const absl::Duration age = usage->oldest.has_value() ? now - *usage->oldest : absl::ZeroDuration();
    metrics.SetEventLogUsage(usage->bytes, std::max(age, absl::ZeroDuration()));
  });
}

}  // namespace stampgate
