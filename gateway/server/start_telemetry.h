// Starts the export of traces and metrics that the config wants.
#ifndef STAMPGATE_GATEWAY_SERVER_START_TELEMETRY_H_
#define STAMPGATE_GATEWAY_SERVER_START_TELEMETRY_H_

#include <functional>
#include <memory>

#include "absl/strings/string_view.h"
#include "gateway/config/config.h"
#include "gateway/metrics/metrics.h"
#include "gateway/telemetry/telemetry.h"

namespace stampgate {

// Returns null if the config has no `telemetry`. Counts the exports in `metrics`, and logs "telemetry_failing" when an
// export fails after one that succeeded, and "telemetry_recovered" when one succeeds again. `metrics` must outlive the
// result. `version` is the version of the program. `numbers` returns the numbers about the process, and is called on a
// thread of the result.
std::unique_ptr<Telemetry> StartTelemetry(const Config& config, absl::string_view version, Metrics& metrics,
                                          std::function<ProcessNumbers()> numbers);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_START_TELEMETRY_H_
