#include "gateway/server/start_telemetry.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/time/duration.h"
#include "gateway/config/settings/named_files.h"
#include "gateway/process/log.h"
#include "gateway/process/random.h"
#include "gateway/telemetry/telemetry_metrics.h"
#include "gateway/upstream/base_url.h"

namespace stampgate {
namespace {

const char* NameOf(TelemetrySignal signal) { return signal == TelemetrySignal::kTraces ? "traces" : "metrics"; }

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// Counts exports, and logs when they begin to fail and when they succeed again.
class ExportReport {
 public:
  explicit ExportReport(MetricRegistry& registry) : metrics_(registry) {}

  TelemetryMetrics& metrics() { return metrics_; }

  void Add(TelemetrySignal signal, const absl::Status& status) {
    metrics_.CountExport(signal, status.ok());
    if (failing_[static_cast<size_t>(signal)].exchange(!status.ok()) == !status.ok()) return;
    if (status.ok()) return Log(Severity::kInfo, "telemetry_recovered", {{"signal", NameOf(signal)}});
    Log(Severity::kWarning, "telemetry_failing",
        {{"signal", NameOf(signal)},
         {"code", absl::StatusCodeToString(status.code())},
         {"message", std::string(status.message())}});
  }

 private:
  TelemetryMetrics metrics_;
  std::array<std::atomic<bool>, 2> failing_{};
};

}  // namespace

std::unique_ptr<Telemetry> StartTelemetry(const Config& config, absl::string_view version, MetricRegistry& registry) {
  if (!config->has_telemetry()) return nullptr;
  const config::v1::Telemetry& wanted = config->telemetry();
  const auto report = std::make_shared<ExportReport>(registry);
  Telemetry::Options options;
  options.client.endpoint = ParseBaseUrl(wanted.endpoint()).value_or("");  // ParseConfig has checked it
  while (options.client.endpoint.ends_with('/')) options.client.endpoint.pop_back();
  options.client.ca_file = wanted.ca_file();
  options.client.secret_owners = SecretOwnersOf(*config);
  options.client.headers_file = wanted.headers_file();
  options.client.user_agent = absl::StrCat("stampgate/", version);
  options.client.timeout = ToDuration(wanted.timeout());
  options.resource.service_name = wanted.service_name();
  options.resource.service_instance_id =
      wanted.service_instance_id().empty() ? HostName() : wanted.service_instance_id();
  options.resource.version = std::string(version);
  const ServerAddress upstream = AddressOfUrl(config->upstream().base_url());
  options.upstream = {upstream.host, upstream.port};
  options.span_interval = ToDuration(wanted.span_interval());
  options.metric_interval = ToDuration(wanted.metric_interval());
  if (wanted.traces()) {
    options.tracer = Tracer::Options{.sampling_ratio = wanted.sampling_ratio(),
                                     .max_queued = wanted.max_queued_calls(),
                                     .random = RandomOfThread,
                                     .now = [] { return absl::Now(); },
                                     .steady_now = [] { return std::chrono::steady_clock::now(); },
                                     .on_drop = [report] { report->metrics().dropped_calls.Increment(); }};
  }
  if (wanted.metrics()) options.metrics = [&registry] { return registry.Collect(); };
  options.start = absl::Now();
  options.on_export = [report](TelemetrySignal signal, const absl::Status& status) { report->Add(signal, status); };
  options.on_lost_spans = [report](int64_t spans) {
    report->metrics().lost_spans.Increment(static_cast<double>(spans));
  };
  return std::make_unique<Telemetry>(std::move(options));
}

}  // namespace stampgate
