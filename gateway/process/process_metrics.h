// The metrics of the process.
#ifndef STAMPGATE_GATEWAY_PROCESS_PROCESS_METRICS_H_
#define STAMPGATE_GATEWAY_PROCESS_PROCESS_METRICS_H_

#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"
#include "gateway/metrics/registry.h"
#include "gateway/process/usage.h"

namespace stampgate {

// Reads the numbers when the registry is collected. Thread-safe. The registry must outlive this, and this the last
// collection of the registry.
class ProcessMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  // Other code has these numbers.
  struct Numbers {
    ProcessUsage usage;
    uint64_t dropped_log_lines = 0;
  };

  // `version` is the version of the program.
  ProcessMetrics(MetricRegistry& registry, absl::string_view version, std::function<Numbers()> read = Read);

 private:
  static Numbers Read();

  void Set(const Numbers& numbers);

  Gauge& resident_bytes_ =
      registry_.AddGauge("process_resident_memory_bytes", "Resident memory of the process, in bytes.");
  Gauge& open_descriptors_ = registry_.AddGauge("process_open_fds", "Open file descriptors.");
  Gauge& max_descriptors_ = registry_.AddGauge("process_max_fds", "Limit on open file descriptors.");
  Counter& cpu_seconds_ =
      registry_.AddCounter("process_cpu_seconds_total", "CPU time that the process has used, in seconds.");
  Gauge& start_time_ = registry_.AddGauge("process_start_time_seconds", "When the process started, in Unix time.");
  Counter& dropped_log_lines_ = registry_.AddCounter(
      "stampgate_log_lines_dropped_total", "Log lines that were dropped because the reader of the log was too slow.");
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_PROCESS_METRICS_H_
