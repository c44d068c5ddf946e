#include "gateway/subscriptions/subscription_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;

TEST(SubscriptionMetricsTest, EachSeriesNamesTheSubscription) {
  MetricRegistry registry;
  const SubscriptionMetrics metrics(registry, "payouts");
  EXPECT_THAT(
      SeriesOf(registry),
      ElementsAre(
          R"(counter stampgate_subscription_deliveries_total{reason="consumer_left",subscription="payouts"})",
          R"(counter stampgate_subscription_deliveries_total{reason="earlier_event",subscription="payouts"})",
          R"(counter stampgate_subscription_deliveries_total{reason="first",subscription="payouts"})",
          R"(counter stampgate_subscription_deliveries_total{reason="gateway_restarted",subscription="payouts"})",
          R"(counter stampgate_subscription_deliveries_total{reason="retry",subscription="payouts"})",
          R"(counter stampgate_subscription_deliveries_total{reason="seek",subscription="payouts"})",
          R"(counter stampgate_subscription_deliveries_total{reason="timeout",subscription="payouts"})",
          R"(counter stampgate_subscription_deliveries_total{reason="unparked",subscription="payouts"})",
          R"(counter stampgate_subscription_failed_writes_total{subscription="payouts"})",
          R"(counter stampgate_subscription_lost_events_total{subscription="payouts"})",
          R"(counter stampgate_subscription_parks_total{subscription="payouts"})",
          R"(gauge stampgate_subscription_consumers{subscription="payouts"})",
          R"(gauge stampgate_subscription_events_behind{subscription="payouts"})",
          R"(gauge stampgate_subscription_lagging_keys{subscription="payouts"})",
          R"(gauge stampgate_subscription_oldest_age_seconds{subscription="payouts"})",
          R"(gauge stampgate_subscription_parked_events{subscription="payouts"})",
          R"(gauge stampgate_subscription_partitions{subscription="payouts"})",
          R"(gauge stampgate_subscription_settings_overruled{subscription="payouts"})",
          R"(gauge stampgate_subscription_unsettled_events{subscription="payouts"})",
          R"(histogram stampgate_subscription_done_seconds{subscription="payouts"})"));
  metrics.deliveries[DeliveryReason::kRetry].Increment();
  EXPECT_EQ(ValueOf(registry, R"(stampgate_subscription_deliveries_total{reason="retry",subscription="payouts"})"),
            "1");
}

}  // namespace
}  // namespace stampgate
