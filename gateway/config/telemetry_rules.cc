#include "gateway/config/telemetry_rules.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gateway/config/caller_rules.h"
#include "gateway/config/duration_range.h"
#include "gateway/telemetry/export_headers.h"
#include "gateway/upstream/base_url.h"
#include "google/protobuf/util/time_util.h"

namespace stampgate {
namespace {

using google::protobuf::util::TimeUtil;

void SetDefaults(config::v1::Telemetry& telemetry) {
  if (!telemetry.has_timeout()) *telemetry.mutable_timeout() = TimeUtil::SecondsToDuration(10);
  if (!telemetry.has_traces()) telemetry.set_traces(true);
  if (!telemetry.has_metrics()) telemetry.set_metrics(true);
  if (!telemetry.has_sampling_ratio()) telemetry.set_sampling_ratio(0.01);
  if (!telemetry.has_span_interval()) *telemetry.mutable_span_interval() = TimeUtil::SecondsToDuration(5);
  if (!telemetry.has_metric_interval()) *telemetry.mutable_metric_interval() = TimeUtil::SecondsToDuration(60);
  if (!telemetry.has_max_queued_calls()) telemetry.set_max_queued_calls(2048);
  if (telemetry.service_name().empty()) telemetry.set_service_name("stampgate");
}

}  // namespace

void CheckTelemetry(config::v1::Config& config, ConfigReport& report) {
  if (!config.has_telemetry()) return;
  config::v1::Telemetry& telemetry = *config.mutable_telemetry();
  SetDefaults(telemetry);
  if (!telemetry.endpoint().empty()) {
    const absl::Status status = ParseBaseUrl(telemetry.endpoint()).status();
    if (!status.ok()) report.Add("telemetry.endpoint", absl::StripPrefix(status.message(), "base_url "));
  }
  CheckRange(telemetry.timeout(), absl::Milliseconds(100), "telemetry.timeout", report, absl::Minutes(1));
  CheckRange(telemetry.span_interval(), absl::Milliseconds(100), "telemetry.span_interval", report);
  CheckRange(telemetry.metric_interval(), absl::Milliseconds(100), "telemetry.metric_interval", report);
  if (!(telemetry.sampling_ratio() >= 0 && telemetry.sampling_ratio() <= 1)) {
    report.Add("telemetry.sampling_ratio", "must be from 0 to 1");
  }
}

void CheckTelemetryFiles(const config::v1::Config& config, const FileContents& contents, ConfigReport& report) {
  const config::v1::Telemetry& telemetry = config.telemetry();
  if (!telemetry.ca_file().empty()) {
    const absl::Status status = CheckCaFile(contents.Public(telemetry.ca_file()));
    if (!status.ok()) report.Add("telemetry.ca_file", status.message());
  }
  if (telemetry.headers_file().empty()) return;
  const absl::StatusOr<SecretBytes>& headers = contents.Secret(telemetry.headers_file());
  const absl::Status status = headers.ok() ? ParseExportHeaders(*headers).status() : headers.status();
  if (!status.ok()) report.Add("telemetry.headers_file", status.message());
}

}  // namespace stampgate
