#include "gateway/upstream/upstream_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "absl/strings/numbers.h"
#include "gateway/metrics/registry.h"
#include "gateway/metrics/testing.h"

namespace stampgate {
namespace {

using ::testing::UnorderedElementsAre;

class UpstreamMetricsTest : public ::testing::Test {
 protected:
  MetricRegistry registry_;
  UpstreamMetrics metrics_{registry_};
};

TEST_F(UpstreamMetricsTest, TheseSeriesAreShownFromTheStart) {
  EXPECT_THAT(
      SeriesOf(registry_),
      UnorderedElementsAre("gauge stampgate_detached_exchange_oldest_age_seconds", "gauge stampgate_detached_exchanges",
                           R"(gauge stampgate_upstream_exchanges_in_flight{lane="key_set"})",
                           R"(gauge stampgate_upstream_exchanges_in_flight{lane="query"})",
                           R"(gauge stampgate_upstream_exchanges_in_flight{lane="submit"})",
                           R"(gauge stampgate_upstream_waiting_calls{lane="key_set"})",
                           R"(gauge stampgate_upstream_waiting_calls{lane="query"})",
                           R"(gauge stampgate_upstream_waiting_calls{lane="submit"})",
                           R"(histogram stampgate_upstream_exchange_duration_seconds{lane="key_set"})",
                           R"(histogram stampgate_upstream_exchange_duration_seconds{lane="query"})",
                           R"(histogram stampgate_upstream_exchange_duration_seconds{lane="submit"})"));
}

TEST_F(UpstreamMetricsTest, TheAgeOfTheOldestDetachedExchangeIsShown) {
  const auto age = [&] {
    double seconds = -1;
    EXPECT_TRUE(absl::SimpleAtod(ValueOf(registry_, "stampgate_detached_exchange_oldest_age_seconds"), &seconds));
    return seconds;
  };
  EXPECT_EQ(age(), 0);
  metrics_.SetDetached(3, std::chrono::steady_clock::now() - std::chrono::hours(1));
  EXPECT_EQ(ValueOf(registry_, "stampgate_detached_exchanges"), "3");
  const double hour = age();
  EXPECT_GE(hour, 3600);
  EXPECT_GT(age(), hour);  // the age grows without further calls
  metrics_.SetDetached(1, std::chrono::steady_clock::now());
  EXPECT_LT(age(), 3600);
  metrics_.SetDetached(0, {});
  EXPECT_EQ(ValueOf(registry_, "stampgate_detached_exchanges"), "0");
  EXPECT_EQ(age(), 0);
}

TEST_F(UpstreamMetricsTest, EachLaneHasItsName) {
  metrics_[UpstreamLane::kSubmit].in_flight.Set(1);
  metrics_[UpstreamLane::kQuery].waiting.Set(2);
  metrics_[UpstreamLane::kKeySet].duration.Observe(0.03);
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_upstream_exchanges_in_flight{lane="submit"})"), "1");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_upstream_waiting_calls{lane="query"})"), "2");
  EXPECT_EQ(ValueOf(registry_, R"(stampgate_upstream_exchange_duration_seconds_count{lane="key_set"})"), "1");
}

}  // namespace
}  // namespace stampgate
