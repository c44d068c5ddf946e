// The metrics of the exports to a collector.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_TELEMETRY_METRICS_H_
#define STAMPGATE_GATEWAY_TELEMETRY_TELEMETRY_METRICS_H_

#include "gateway/metrics/registry.h"
#include "gateway/telemetry/telemetry.h"

namespace stampgate {

// Make it only if the config has telemetry, because its metrics are shown from then on. Thread-safe. The registry must
// outlive this.
class TelemetryMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit TelemetryMetrics(MetricRegistry& registry) : registry_(registry) {}

  void CountExport(TelemetrySignal signal, bool ok) {
    const bool is_traces = signal == TelemetrySignal::kTraces;
    if (ok) return (is_traces ? good_traces_ : good_metrics_).Increment();
    (is_traces ? failed_traces_ : failed_metrics_).Increment();
  }

  Counter& lost_spans = registry_.AddCounter("stampgate_telemetry_spans_lost_total",
                                             "Spans that the collector refused, or that could not be sent to it.");
  Counter& dropped_calls =
      registry_.AddCounter("stampgate_telemetry_calls_dropped_total",
                           "Sampled calls and deliveries whose spans were dropped because the collector was too slow.");

 private:
  Counter& AddExports(const char* signal, const char* result) {
    return registry_.AddCounter("stampgate_telemetry_exports_total",
                                "Exports to the collector of telemetry, by signal and result.",
                                {{"signal", signal}, {"result", result}});
  }

  Counter& good_traces_ = AddExports("traces", "ok");
  Counter& failed_traces_ = AddExports("traces", "failed");
  Counter& good_metrics_ = AddExports("metrics", "ok");
  Counter& failed_metrics_ = AddExports("metrics", "failed");
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_TELEMETRY_METRICS_H_
