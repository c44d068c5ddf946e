#include "gateway/store/store_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class StoreMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  StoreMetrics metrics_{registry_};
};

TEST_F(StoreMetricsTest, EachMetricIsShownOnceItHasAValue) {
  EXPECT_THAT(SeriesOf(registry_), IsEmpty());
  metrics_.keys.Set(3);
  metrics_.failing.Set(0);
  metrics_.write_seconds.Set(0);
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre("gauge stampgate_idempotency_keys", "gauge stampgate_call_store_failing",
                                   "gauge stampgate_call_store_write_seconds"));
  EXPECT_EQ(ValueOf(registry_, "stampgate_idempotency_keys"), "3");
}

}  // namespace
}  // namespace stampgate
