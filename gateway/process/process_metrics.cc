#include "gateway/process/process_metrics.h"

#include <string>
#include <utility>

#include "gateway/process/log.h"

namespace stampgate {
namespace {

// Increases `counter` to `total`.
void Raise(Counter& counter, double total) {
  if (total > counter.Value()) counter.Increment(total - counter.Value());
}

}  // namespace

ProcessMetrics::ProcessMetrics(MetricRegistry& registry, absl::string_view version, std::function<Numbers()> read)
    : registry_(registry) {
  registry.AddGauge("stampgate_build_info", "Version of the program.", {{"version", std::string(version)}}).Set(1);
  registry.BeforeCollect([this, read = std::move(read)] { Set(read()); });
}

ProcessMetrics::Numbers ProcessMetrics::Read() { return {ReadProcessUsage(), DroppedLogLines()}; }

void ProcessMetrics::Set(const Numbers& numbers) {
  resident_bytes_.Set(numbers.usage.resident_bytes);
  open_descriptors_.Set(numbers.usage.open_descriptors);
  max_descriptors_.Set(numbers.usage.max_descriptors);
  Raise(cpu_seconds_, numbers.usage.cpu_seconds);
  start_time_.Set(numbers.usage.start_time_seconds);
  Raise(dropped_log_lines_, static_cast<double>(numbers.dropped_log_lines));
}

}  // namespace stampgate
