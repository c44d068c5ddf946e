#include "gateway/admission/learned_rate.h"

#include <gtest/gtest.h>

#include <optional>

#include "gateway/admission/rate.h"

namespace stampgate {
namespace {

class LearnedRateTest : public ::testing::Test {
 protected:
  // As after many seconds with so many requests in each of them.
  void Accept(int count) {
    for (int i = 0; i < 5 * count; ++i) {
      rate_.Accepted(now_);
      now_ += absl::Seconds(1) / count;
    }
  }
  void Refuse() { rate_.Refused(now_, std::nullopt); }
  double PerSecond() { return rate_.PerSecond(now_).value_or(-1); }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  LearnedRate rate_;
};

TEST_F(LearnedRateTest, LimitsNothingUntilUpstreamRefusesARequest) {
  for (int i = 0; i < 1000; ++i) {
    rate_.Begin(now_, /*waited=*/false);
    rate_.Sent(now_);
  }
  EXPECT_EQ(rate_.When(1'000'000, now_), now_);
  EXPECT_EQ(rate_.PerSecond(now_), std::nullopt);
}

TEST_F(LearnedRateTest, IsALittleSlowerThanWhatUpstreamHasAccepted) {
  Accept(100);
  Refuse();
  EXPECT_NEAR(PerSecond(), 95, 2);
  EXPECT_FALSE(rate_.IsEmpty(now_));
}

TEST_F(LearnedRateTest, BecomesHalfAtEachRefusalWhileUpstreamAcceptsNothingDownToOneRequestInTenSeconds) {
  Refuse();
  EXPECT_NEAR(PerSecond(), 0.95, 0.02);
  for (int i = 0; i < 10; ++i) Refuse();
  EXPECT_NEAR(PerSecond(), 0.95, 0.02) << "requests that were on their way are refused for the same reason";
  now_ += Rate::kStepInterval;
  Refuse();
  EXPECT_NEAR(PerSecond(), 0.475, 0.02);
  for (int i = 0; i < 10; ++i) {
    now_ += Rate::kStepInterval;
    Refuse();
  }
  EXPECT_NEAR(PerSecond(), 0.1, 0.01);
}

TEST_F(LearnedRateTest, RecoversAndIsForgottenWhenItHasDoubled) {
  Accept(100);
  Refuse();
  now_ += absl::Seconds(10);
  EXPECT_NEAR(PerSecond(), 115 / 1.01, 2);
  now_ += absl::Seconds(42);
  EXPECT_NEAR(PerSecond(), 199 / 1.01, 3);
  now_ += absl::Seconds(1);
  EXPECT_EQ(rate_.PerSecond(now_), std::nullopt);
  EXPECT_TRUE(rate_.IsEmpty(now_));
}

}  // namespace
}  // namespace stampgate
