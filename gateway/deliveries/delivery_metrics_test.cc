#include "gateway/deliveries/delivery_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAre;

class DeliveryMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  DeliveryMetrics metrics_{registry_};
};

TEST_F(DeliveryMetricsTest, TheseSeriesAreShownFromTheStart) {
  EXPECT_THAT(SeriesOf(registry_),
              UnorderedElementsAre("counter stampgate_events_lost_total", "gauge stampgate_subscribers",
                                   R"(histogram stampgate_durable_write_seconds{write="event"})"));
}

TEST_F(DeliveryMetricsTest, TheMetricsOfAnEventLogAreShownOnceTheyHaveValues) {
  metrics_.log_failing.Set(1);
  metrics_.log_write_seconds.Set(1.5);
  metrics_.log_bytes.Set(4096);
  metrics_.log_oldest_age.Set(2.5);
  metrics_.subscriber_lag.Set(9);
  EXPECT_EQ(ValueOf(registry_, "stampgate_event_log_failing"), "1");
  EXPECT_EQ(ValueOf(registry_, "stampgate_event_log_write_seconds"), "1.5");
  EXPECT_EQ(ValueOf(registry_, "stampgate_event_log_bytes"), "4096");
  EXPECT_EQ(ValueOf(registry_, "stampgate_event_log_oldest_age_seconds"), "2.5");
  EXPECT_EQ(ValueOf(registry_, "stampgate_subscriber_lag_events"), "9");
}

TEST_F(DeliveryMetricsTest, DeliveriesAreCountedByOutcome) {
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_deliveries_total{outcome="stored"})"), "none");
  metrics_.ExpectDeliveries();
  for (const std::string& outcome : Intake::Outcomes()) {
    EXPECT_EQ(ValueOf(registry_, absl::StrCat("stampgate_deliveries_total{outcome=\"", outcome, "\"}")), "0");
  }
  Intake::Report report;
  report.outcome = "stored";
  report.times.emplace();
  report.times->stored = report.times->verified + std::chrono::milliseconds(30);
  metrics_.Count(report);
  report.times->stored.reset();
  report.outcome = "not_found";
  metrics_.Count(report);
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_deliveries_total{outcome="stored"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_deliveries_total{outcome="not_found"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_durable_write_seconds_count{write="event"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_durable_write_seconds_bucket{write="event",le="0.025"})"), "0");
}

TEST_F(DeliveryMetricsTest, ThePeersAreShownOnceTheyAreKnown) {
  EXPECT_EQ(ValueOf(registry_, "stampgate_webhook_peers_refused_total"), "none");
  for (const uint64_t more : {0, 0, 5}) {
    metrics_.ShowPeers({3, 4, 10 + more, 20 + more, 30 + more}, 5000);
    EXPECT_EQ(ValueOf(registry_, R"(stampgate_webhook_peers{peer="unproven"})"), "3");
    EXPECT_EQ(ValueOf(registry_, R"(stampgate_webhook_peers{peer="proven"})"), "4");
    EXPECT_EQ(ValueOf(registry_, R"(stampgate_webhook_peers_displaced_total{peer="unproven"})"),
              absl::StrCat(10 + more));
    EXPECT_EQ(ValueOf(registry_, R"(stampgate_webhook_peers_displaced_total{peer="proven"})"), absl::StrCat(20 + more));
    EXPECT_EQ(ValueOf(registry_, "stampgate_webhook_peers_refused_total"), absl::StrCat(30 + more));
    EXPECT_EQ(ValueOf(registry_, "stampgate_webhook_held_bytes"), "5000");
  }
}

TEST_F(DeliveryMetricsTest, TheCertificateOfTheWebhookPortIsShown) {
  metrics_.certificate_reloads.Count(false);
  metrics_.certificate_not_after.Set(1800000002);
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_reloads_total{result="failed",what="webhook_certificates"})"), "1");
  EXPECT_EQ(ValueOf(registry_, "stampgate_webhook_tls_certificate_not_after_timestamp_seconds"), "1800000002");
}

}  // namespace
}  // namespace stampgate
