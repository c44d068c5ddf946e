// Makes OTLP's metrics from those of the page /metrics.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_OTLP_METRICS_H_
#define STAMPGATE_GATEWAY_TELEMETRY_OTLP_METRICS_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "absl/time/time.h"
#include "gateway/telemetry/resource.h"
#include "opentelemetry/otlp.pb.h"

namespace stampgate {

// Returns `families` with their names: a counter is a monotonic sum, a gauge a gauge, and a histogram a histogram. Sums
// and histograms count from `start`. Leaves out families of other types, which the gateway does not have.
otlp::ExportMetricsServiceRequest ToOtlp(const std::vector<prometheus::MetricFamily>& families,
                                         const TelemetryResource& resource, absl::Time start, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_OTLP_METRICS_H_
