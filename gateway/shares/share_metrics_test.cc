#include "gateway/shares/share_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ShareMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  ShareMetrics metrics_{registry_};
};

TEST_F(ShareMetricsTest, EachMetricIsShownOnceItHasAValue) {
  EXPECT_THAT(SeriesOf(registry_), IsEmpty());
  metrics_.share.Set(0.25);
  metrics_.replicas.Set(4);
  metrics_.shares_failing.Set(1);
  metrics_.quotas_failing.Set(0);
  metrics_.SetUnused(absl::Hours(24), 99'000);
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre("gauge stampgate_rate_share", "gauge stampgate_rate_replicas",
                                   "gauge stampgate_rate_shares_failing", "gauge stampgate_quotas_failing",
                                   R"(gauge stampgate_quota_unused_calls{window="24h"})"));
  EXPECT_EQ(ValueOf(registry_, "stampgate_rate_share"), "0.25");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_quota_unused_calls{window="24h"})"), "99000");
}

}  // namespace
}  // namespace stampgate
