#include "gateway/server/server_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ServerMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  ServerMetrics metrics_{registry_};
};

TEST_F(ServerMetricsTest, EachMetricIsShownOnceItHasAValue) {
  EXPECT_THAT(SeriesOf(registry_), IsEmpty());
  metrics_.certificate_reloads.Count(true);
  metrics_.certificate_not_after.Set(1800000001);
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre(R"(counter stampgate_reloads_total{result="ok",what="certificates"})",
                                   "gauge stampgate_tls_certificate_not_after_timestamp_seconds"));
  EXPECT_EQ(ValueOf(registry_, "stampgate_tls_certificate_not_after_timestamp_seconds"), "1800000001");
}

}  // namespace
}  // namespace stampgate
