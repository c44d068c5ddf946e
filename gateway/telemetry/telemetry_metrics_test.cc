#include "gateway/telemetry/telemetry_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAre;

class TelemetryMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  TelemetryMetrics metrics_{registry_};
};

TEST_F(TelemetryMetricsTest, TheseSeriesAreShownFromTheStart) {
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre("counter stampgate_telemetry_calls_dropped_total",
                                   R"(counter stampgate_telemetry_exports_total{result="failed",signal="metrics"})",
                                   R"(counter stampgate_telemetry_exports_total{result="failed",signal="traces"})",
                                   R"(counter stampgate_telemetry_exports_total{result="ok",signal="metrics"})",
                                   R"(counter stampgate_telemetry_exports_total{result="ok",signal="traces"})",
                                   "counter stampgate_telemetry_spans_lost_total"));
}

TEST_F(TelemetryMetricsTest, ExportsAreCountedBySignalAndResult) {
  metrics_.CountExport(TelemetrySignal::kTraces, true);
  metrics_.CountExport(TelemetrySignal::kTraces, true);
  metrics_.CountExport(TelemetrySignal::kMetrics, false);
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_telemetry_exports_total{result="ok",signal="traces"})"), "2");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_telemetry_exports_total{result="failed",signal="metrics"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_telemetry_exports_total{result="ok",signal="metrics"})"), "0");
}

}  // namespace
}  // namespace stampgate
