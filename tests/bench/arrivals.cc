#include "tests/bench/arrivals.h"

#include <cstdio>

#include "tests/bench/sent_time.h"

namespace stampgate::bench {

void Arrivals::Add(absl::string_view event, absl::Time now) {
  if (!begin_.has_value()) begin_ = Look(server_);
  ++events_;
  bytes_ += static_cast<int64_t>(event.size());
  if (const std::optional<absl::Time> sent = SentTime(event)) latencies_.Add(now - *sent);
}

void Arrivals::Print() {
  const std::optional<Instant> end = Look(server_);
  if (!begin_.has_value() || !end.has_value()) return;
  const auto events = static_cast<double>(events_);
  std::printf(
      "cpu_us=%.2f per_second=%.0f p50_ms=%.2f p99_ms=%.2f events=%.0f event_bytes=%.0f events_per_message=%.1f",
      absl::ToDoubleMicroseconds(end->cpu - begin_->cpu) / events,
      events / absl::ToDoubleSeconds(end->time - begin_->time), latencies_.PercentileMs(0.5),
      latencies_.PercentileMs(0.99), events, static_cast<double>(bytes_) / events,
      events / static_cast<double>(messages_));
}

}  // namespace stampgate::bench
