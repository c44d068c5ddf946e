#include "gateway/telemetry/telemetry.h"

#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "gateway/telemetry/otlp_metrics.h"

namespace stampgate {
namespace {

constexpr char kExportTraces[] = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
constexpr char kExportMetrics[] = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export";

}  // namespace

Telemetry::Telemetry(Options options)
    : options_(std::move(options)),
      tracer_(options_.tracer.has_value() ? std::make_unique<Tracer>(*options_.tracer) : nullptr),
      trace_client_(options_.client),
      metric_client_(options_.client) {
  if (tracer_ != nullptr) {
    spans_.emplace(
        *tracer_, options_.resource, options_.upstream,
        [this](const std::string& request) { return trace_client_.Export(kExportTraces, request); },
        [this](const absl::Status& status) { options_.on_export(TelemetrySignal::kTraces, status); },
        options_.on_lost_spans);
    span_task_.emplace("trace-export", options_.span_interval, [this] {
      const std::optional<absl::Duration> pause = spans_->Run();
      PeriodicTask* const task = exporting_;
      if (pause.has_value() && task != nullptr) task->RunAgainIn(*pause);
    });
    exporting_ = &*span_task_;
    tracer_->OnHalfFull([this] { exporting_.load()->Wake(); });
  }
  if (options_.metrics) {
    metric_task_.emplace("metric-export", options_.metric_interval, [this] { ExportMetrics(); });
  }
}

Telemetry::~Telemetry() { Stop(absl::ZeroDuration()); }

void Telemetry::ExportMetrics() {
  const otlp::ExportMetricsServiceRequest request =
      ToOtlp(options_.metrics(), options_.resource, options_.start, absl::Now());
  options_.on_export(TelemetrySignal::kMetrics,
                     metric_client_.Export(kExportMetrics, request.SerializeAsString()).status());
}

void Telemetry::Stop(absl::Duration patience) {
  const auto end = OtlpClient::Clock::now() + absl::ToChronoNanoseconds(patience);
  trace_client_.EndBy(end);
  metric_client_.EndBy(end);
  if (tracer_ != nullptr) tracer_->Close();  // before the task ends that a full queue wakes
  span_task_.reset();
  metric_task_.reset();
}

void Telemetry::End(absl::Duration patience) {
  const bool exports_spans = span_task_.has_value();
  const bool exports_metrics = metric_task_.has_value();
  Stop(patience);
  // On this thread, because the other threads have ended. The clients still end by the same time.
  if (exports_spans) spans_->Run(/*is_last=*/true);
  if (exports_metrics) ExportMetrics();
}

}  // namespace stampgate
