#include "gateway/admission/rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace stampgate {
namespace {

class RateTest : public ::testing::Test {
 protected:
  // Sends a request.
  void Send(Rate& rate) const {
    rate.Begin(now_, /*waited=*/false);
    rate.Sent(now_);
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST_F(RateTest, WithoutWindowsNothingIsLimited) {
  Rate rate({});
  for (int i = 0; i < 1000; ++i) Send(rate);
  rate.Refused(now_, absl::Seconds(30));
  EXPECT_EQ(rate.When(1000, now_), now_);
  EXPECT_TRUE(std::isinf(rate.PerSecond(now_)));
  EXPECT_FALSE(rate.has_windows());
}

TEST_F(RateTest, ARequestMustFitIntoEachWindow) {
  Rate rate({{100, absl::Seconds(1)}, {2, absl::Hours(1)}});
  Send(rate);
  EXPECT_EQ(rate.When(1, now_), now_);
  Send(rate);
  EXPECT_GE(rate.When(1, now_), now_ + absl::Hours(1));
  EXPECT_NEAR(rate.PerSecond(now_), 2.0 / 3600, 1e-5);
}

TEST_F(RateTest, EachRefusalOfUpstreamSlowsTheRateByAStep) {
  Rate rate({{100, absl::Seconds(1)}});
  const double full = rate.PerSecond(now_);
  rate.Refused(now_, std::nullopt);
  EXPECT_NEAR(rate.PerSecond(now_), full * 0.95, 0.01);
  rate.Refused(now_ + absl::Milliseconds(99), std::nullopt);
  EXPECT_NEAR(rate.PerSecond(now_), full * 0.95, 0.01) << "the next step comes 100 ms later";
  now_ += Rate::kStepInterval;
  rate.Refused(now_, std::nullopt);
  EXPECT_NEAR(rate.PerSecond(now_), full * (0.95 + 0.002) * 0.95, 0.01);
}

TEST_F(RateTest, TheRateRecoversAndIsNeverSlowerThanATenth) {
  Rate rate({{100, absl::Seconds(1)}});
  const double full = rate.PerSecond(now_);
  for (int i = 0; i < 1000; ++i, now_ += Rate::kStepInterval) rate.Refused(now_, std::nullopt);
  now_ -= Rate::kStepInterval;
  EXPECT_NEAR(rate.PerSecond(now_), full / 10, 0.01);
  now_ += absl::Seconds(10);
  EXPECT_NEAR(rate.PerSecond(now_), full * 0.3, 0.01);
  EXPECT_FALSE(rate.IsEmpty(now_)) << "a slow rate must not be forgotten";
  now_ += absl::Seconds(35);
  EXPECT_NEAR(rate.PerSecond(now_), full, 0.01);
  EXPECT_TRUE(rate.IsEmpty(now_));
}

TEST_F(RateTest, ARetryAfterOfMoreThanASecondPausesTheRate) {
  Rate rate({{100, absl::Seconds(1)}});
  rate.Refused(now_, absl::Seconds(1));
  EXPECT_EQ(rate.When(1, now_), now_);
  rate.Refused(now_, absl::Seconds(5));
  EXPECT_EQ(rate.When(1, now_), now_ + absl::Seconds(5));
  rate.Refused(now_, absl::Seconds(3));
  EXPECT_EQ(rate.When(1, now_), now_ + absl::Seconds(5)) << "a shorter pause does not end a longer one";
  rate.Refused(now_, absl::Hours(1));
  EXPECT_EQ(rate.When(1, now_), now_ + Rate::kLongestPause);
}

TEST_F(RateTest, RequestsOfOthersReduceOnlyTheWindowWithTheReportedLimit) {
  Rate rate({{10, absl::Seconds(1)}, {1000, absl::Minutes(1)}});
  Send(rate);
  rate.Remaining(77, 0, now_);
  EXPECT_NEAR(rate.PerSecond(now_), 10 / 1.01, 0.01) << "no window has this limit";
  // Upstream has counted six requests, of which one is this process's.
  rate.Remaining(10, 4, now_);
  EXPECT_NEAR(rate.PerSecond(now_), 5 / 1.01, 0.01);
  // Of the 900 requests that upstream has counted, up to a twentieth of the limit can be this process's, on their way.
  rate.Remaining(1000, 100, now_);
  EXPECT_NEAR(rate.PerSecond(now_), (1000 - (900 - 1 - 50)) / 60.6, 0.01);
  now_ += absl::Minutes(2);
  EXPECT_NEAR(rate.PerSecond(now_), 10 / 1.01, 0.01) << "the requests of others have left the windows";
}

TEST_F(RateTest, AWithdrawnRequestDoesNotCount) {
  Rate rate({{1, absl::Minutes(1)}});
  rate.Begin(now_, /*waited=*/false);
  EXPECT_GT(rate.When(1, now_), now_);
  rate.Withdraw();
  EXPECT_EQ(rate.When(1, now_), now_);
}

}  // namespace
}  // namespace stampgate
