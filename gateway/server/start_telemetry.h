// Starts the export of traces and metrics that the config wants.
#ifndef STAMPGATE_GATEWAY_SERVER_START_TELEMETRY_H_
#define STAMPGATE_GATEWAY_SERVER_START_TELEMETRY_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "gateway/config/config.h"
#include "gateway/metrics/registry.h"
#include "gateway/telemetry/telemetry.h"

namespace stampgate {

// Returns null if the config has no `telemetry`. Exports the metrics of `registry`, and counts the exports there. Logs
// "telemetry_failing" when an export fails after one that succeeded, and "telemetry_recovered" when one succeeds again.
// `registry` must outlive the result. `version` is the version of the program.
std::unique_ptr<Telemetry> StartTelemetry(const Config& config, absl::string_view version, MetricRegistry& registry);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_START_TELEMETRY_H_
