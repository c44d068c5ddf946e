#include "gateway/waiting/wait_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAre;

class WaitMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  WaitMetrics metrics_{registry_};
};

TEST_F(WaitMetricsTest, TheseSeriesAreShownFromTheStart) {
  EXPECT_THAT(
      SeriesOf(registry_),
      UnorderedElementsAre(
          R"(counter stampgate_activity_polls_total{result="failed"})",
          R"(counter stampgate_activity_polls_total{result="ok"})",
          R"(counter stampgate_waits_total{end="caller_left"})", R"(counter stampgate_waits_total{end="deadline"})",
          R"(counter stampgate_waits_total{end="dismissed"})", R"(counter stampgate_waits_total{end="drain"})",
          R"(counter stampgate_waits_total{end="event"})", R"(counter stampgate_waits_total{end="full"})",
          R"(counter stampgate_waits_total{end="poll"})", "gauge stampgate_waiting_calls"));
}

TEST_F(WaitMetricsTest, EachEndHasItsName) {
  metrics_.ends[WaitEnd::kLeft].Increment();
  metrics_.failed_polls.Increment();
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_waits_total{end="caller_left"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_activity_polls_total{result="failed"})"), "1");
}

}  // namespace
}  // namespace stampgate
