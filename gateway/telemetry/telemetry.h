// Exports the traces and the metrics of the gateway to a collector, over OTLP.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_TELEMETRY_H_
#define STAMPGATE_GATEWAY_TELEMETRY_TELEMETRY_H_

#include <prometheus/metric_family.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gateway/process/periodic_task.h"
#include "gateway/telemetry/otlp_client.h"
#include "gateway/telemetry/otlp_spans.h"
#include "gateway/telemetry/resource.h"
#include "gateway/telemetry/span_exporter.h"
#include "gateway/telemetry/tracer.h"

namespace stampgate {

// What is exported. Also the value of a label of metrics.
enum class TelemetrySignal { kTraces, kMetrics };

// Exports on two threads of its own, so that a slow collector delays neither a call nor the other signal. Thread-safe.
class Telemetry {
 public:
  struct Options {
    OtlpClient::Options client;
    TelemetryResource resource;
    UpstreamServer upstream;
    absl::Duration span_interval;
    absl::Duration metric_interval;
    std::optional<Tracer::Options> tracer;  // nullopt if no traces are exported
    // Returns the current metrics; empty if no metrics are exported. Called on a thread of this object.
    std::function<std::vector<prometheus::MetricFamily>()> metrics;
    absl::Time start;  // from when the metrics count
    // Receives the result of each request, on a thread of this object.
    std::function<void(TelemetrySignal signal, const absl::Status& status)> on_export;
    // Receives the number of spans that a collector refused, or could not be sent.
    std::function<void(int64_t spans)> on_lost_spans;
  };

  explicit Telemetry(Options options);
  // Ends without exporting what is queued.
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Returns null if no traces are exported.
  Tracer* tracer() { return tracer_.get(); }

  // Exports what is queued and the last values of the metrics, within `patience`, and ends the threads. Must be called
  // after the last call has ended. Does not export again after that.
  void End(absl::Duration patience);

 private:
  void ExportMetrics();
  void Stop(absl::Duration patience);

  const Options options_;
  const std::unique_ptr<Tracer> tracer_;
  OtlpClient trace_client_;
  OtlpClient metric_client_;
  std::optional<SpanExporter> spans_;
  std::optional<PeriodicTask> span_task_;
  std::optional<PeriodicTask> metric_task_;
  // span_task_, for the task itself and the tracer. Valid until the task and the tracer use it no more; null as long as
  // the constructor runs.
  std::atomic<PeriodicTask*> exporting_ = nullptr;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_TELEMETRY_H_
