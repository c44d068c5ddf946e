#include "gateway/deliveries/gauges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

EventGauges::EventGauges(EventSource& source, const StreamSlots& subscriptions, DeliveryMetrics& metrics,
                         std::function<absl::Time()> now)
    : source_(source), subscriptions_(subscriptions), metrics_(metrics), now_(std::move(now)) {}

void EventGauges::Look() {
  const std::optional<Position> furthest = subscriptions_.Furthest();
  const Position latest = source_.latest();
  // A subscriber can read an event before the source knows that the log has grown. `furthest` is then above `latest`.
  metrics_.subscriber_lag.Set(static_cast<double>(std::max<Position>(latest - furthest.value_or(latest), 0)));
  if (is_reading_->exchange(true)) return;
  source_.Run([&metrics = metrics_, now = now_(), is_reading = is_reading_](absl::StatusOr<EventReader*> reader) {
    const absl::StatusOr<LogUsage> usage = reader.ok() ? (*reader)->Usage() : reader.status();
    *is_reading = false;
    if (!usage.ok()) return;  // calls that read the log return the error to their callers
    const absl::Duration age = usage->oldest.has_value() ? now - *usage->oldest : absl::ZeroDuration();
    metrics.log_bytes.Set(static_cast<double>(usage->bytes));
    metrics.log_oldest_age.Set(absl::ToDoubleSeconds(std::max(age, absl::ZeroDuration())));
  });
}

}  // namespace stampgate
