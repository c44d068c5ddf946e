#include "gateway/operations/operation_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAre;

class OperationMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  OperationMetrics metrics_{registry_};
};

TEST_F(OperationMetricsTest, TheseSeriesAreShownFromTheStart) {
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre(R"(histogram stampgate_durable_write_seconds{write="decision"})",
                                   R"(histogram stampgate_durable_write_seconds{write="idempotency_key"})"));
}

TEST_F(OperationMetricsTest, EachWriteHasItsHistogram) {
  metrics_.key_write.Observe(0.03);
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_durable_write_seconds_bucket{write="idempotency_key",le="0.025"})"), "0");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_durable_write_seconds_bucket{write="idempotency_key",le="0.05"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_durable_write_seconds_count{write="decision"})"), "0");
}

}  // namespace
}  // namespace stampgate
