#include "gateway/feed/feed_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAre;

class FeedMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  FeedMetrics metrics_{registry_};
};

TEST_F(FeedMetricsTest, ThePositionIsShownOnceItIsKnown) {
  constexpr char kEventType[] = R"(counter stampgate_unrecognized_total{kind="event_type",operation="events"})";
  constexpr char kValue[] = R"(counter stampgate_unrecognized_total{kind="value",operation="events"})";
  EXPECT_THAT(SeriesOf(registry_), UnorderedElementsAre(kEventType, kValue));
  metrics_.latest_position.Set(7);
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre(kEventType, kValue, "gauge stampgate_event_log_latest_position"));
}

}  // namespace
}  // namespace stampgate
