#include "gateway/telemetry/otlp_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <string>

namespace stampgate {
namespace {

using testing::ElementsAre;

constexpr uint64_t kStart = 100'000'000'000;
constexpr uint64_t kNow = 160'000'000'000;

class OtlpMetricsTest : public testing::Test {
 protected:
  google::protobuf::RepeatedPtrField<otlp::Metric> Metrics() const {
    const otlp::ExportMetricsServiceRequest request = ToOtlp(registry_.Collect(), {"service", "instance", "1.2"},
                                                             absl::FromUnixNanos(kStart), absl::FromUnixNanos(kNow));
    EXPECT_EQ(request.resource_metrics(0).resource().attributes(1).value().string_value(), "instance");
    return request.resource_metrics(0).scope_metrics(0).metrics();
  }

  prometheus::Registry registry_;
};

TEST_F(OtlpMetricsTest, ACounterIsAMonotonicSumSinceTheStart) {
  auto& family = prometheus::BuildCounter().Name("a_total").Help("Help.").Register(registry_);
  family.Add({{"method", "m"}}).Increment(3);
  const otlp::Metric metric = Metrics()[0];
  EXPECT_EQ(metric.name(), "a_total");
  EXPECT_EQ(metric.description(), "Help.");
  EXPECT_EQ(metric.unit(), "");
  EXPECT_TRUE(metric.sum().is_monotonic());
  EXPECT_EQ(metric.sum().aggregation_temporality(), otlp::AGGREGATION_TEMPORALITY_CUMULATIVE);
  ASSERT_EQ(metric.sum().data_points_size(), 1);
  const otlp::NumberDataPoint& point = metric.sum().data_points(0);
  EXPECT_EQ(point.as_double(), 3);
  EXPECT_EQ(point.start_time_unix_nano(), kStart);
  EXPECT_EQ(point.time_unix_nano(), kNow);
  ASSERT_EQ(point.attributes_size(), 1);
  EXPECT_EQ(point.attributes(0).key(), "method");
  EXPECT_EQ(point.attributes(0).value().string_value(), "m");
}

TEST_F(OtlpMetricsTest, AGaugeIsAGauge) {
  prometheus::BuildGauge().Name("b_bytes").Register(registry_).Add({}).Set(-2.5);
  const otlp::Metric metric = Metrics()[0];
  EXPECT_EQ(metric.unit(), "By");
  EXPECT_EQ(metric.gauge().data_points(0).as_double(), -2.5);
  EXPECT_EQ(metric.gauge().data_points(0).time_unix_nano(), kNow);
  EXPECT_EQ(metric.gauge().data_points(0).start_time_unix_nano(), 0u);
}

TEST_F(OtlpMetricsTest, AHistogramCountsTheValuesOfEachBucket) {
  auto& family = prometheus::BuildHistogram().Name("c_seconds").Register(registry_);
  prometheus::Histogram& histogram = family.Add({}, prometheus::Histogram::BucketBoundaries{1, 2});
  for (const double value : {0.5, 1.0, 1.5, 7.0}) histogram.Observe(value);
  const otlp::Metric metric = Metrics()[0];
  EXPECT_EQ(metric.unit(), "s");
  EXPECT_EQ(metric.histogram().aggregation_temporality(), otlp::AGGREGATION_TEMPORALITY_CUMULATIVE);
  const otlp::HistogramDataPoint& point = metric.histogram().data_points(0);
  EXPECT_EQ(point.count(), 4u);
  EXPECT_EQ(point.sum(), 10.0);
  EXPECT_THAT(point.bucket_counts(), ElementsAre(2, 1, 1));
  EXPECT_THAT(point.explicit_bounds(), ElementsAre(1, 2));
  EXPECT_EQ(point.start_time_unix_nano(), kStart);
  EXPECT_EQ(point.time_unix_nano(), kNow);
}

TEST_F(OtlpMetricsTest, AValueOfZeroIsSent) {
  prometheus::BuildCounter().Name("a_total").Register(registry_).Add({});
  prometheus::BuildGauge().Name("b").Register(registry_).Add({});
  const auto metrics = Metrics();
  EXPECT_EQ(metrics[0].sum().data_points(0).value_case(), otlp::NumberDataPoint::kAsDouble);
  EXPECT_EQ(metrics[1].gauge().data_points(0).value_case(), otlp::NumberDataPoint::kAsDouble);
}

TEST_F(OtlpMetricsTest, TheUnitOfACounterIsBeforeItsSuffix) {
  prometheus::BuildCounter().Name("process_cpu_seconds_total").Register(registry_).Add({});
  EXPECT_EQ(Metrics()[0].unit(), "s");
}

TEST_F(OtlpMetricsTest, AFamilyWithoutSeriesIsLeftOut) {
  prometheus::BuildGauge().Name("d").Register(registry_);
  EXPECT_EQ(Metrics().size(), 0);
}

}  // namespace
}  // namespace stampgate
