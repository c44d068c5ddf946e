#include "gateway/config/config_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ConfigMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  ConfigMetrics metrics_{registry_};
};

TEST_F(ConfigMetricsTest, EachMetricIsShownOnceItHasAValue) {
  EXPECT_THAT(SeriesOf(registry_), IsEmpty());
  metrics_.reloads.Count(true);
  metrics_.reloads.Count(false);
  metrics_.reloads.Count(false);
  metrics_.taken.Set(1800000001);
  metrics_.grants_without_their_file.Set(0);
  metrics_.policy.Set("0001");
  metrics_.policy.Set("0002");
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre(R"(counter stampgate_reloads_total{result="ok",what="config"})",
                                   R"(counter stampgate_reloads_total{result="failed",what="config"})",
                                   "gauge stampgate_config_last_reload_success_timestamp_seconds",
                                   "gauge stampgate_grants_without_their_file",
                                   R"(gauge stampgate_policy_info{version="0002"})"));
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_reloads_total{result="failed",what="config"})"), "2");
  EXPECT_EQ(ValueOf(registry_, "stampgate_config_last_reload_success_timestamp_seconds"), "1800000001");
}

}  // namespace
}  // namespace stampgate
