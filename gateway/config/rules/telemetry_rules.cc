#include "gateway/config/rules/telemetry_rules.h"

#include "absl/status/status.h"
#include "absl/strings/strip.h"
#include "gateway/config/rules/caller_rules.h"
#include "gateway/telemetry/export_headers.h"
#include "gateway/upstream/base_url.h"

namespace stampgate {

void CheckTelemetry(const config::v1::Config& config, ConfigReport& report) {
  if (!config.has_telemetry()) return;
  const config::v1::Telemetry& telemetry = config.telemetry();
  if (!telemetry.endpoint().empty()) {
    const absl::Status status = ParseBaseUrl(telemetry.endpoint()).status();
    if (!status.ok()) report.Add("telemetry.endpoint", absl::StripPrefix(status.message(), "base_url "));
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
