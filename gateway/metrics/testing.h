// Helpers for tests of metrics.
#ifndef STAMPGATE_GATEWAY_METRICS_TESTING_H_
#define STAMPGATE_GATEWAY_METRICS_TESTING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// Returns the value of the series, such as "stampgate_calls_total{code=\"OK\"}", whose labels are in alphabetical
// order, or "none".
std::string ValueOf(MetricRegistry& registry, absl::string_view series);

// Returns the type and the name of each series that the registry shows, such as "gauge stampgate_calls_in_flight", in
// alphabetical order. A histogram is one series.
std::vector<std::string> SeriesOf(MetricRegistry& registry);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_TESTING_H_
