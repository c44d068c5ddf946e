#include "gateway/admission/rate_window.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

class RateWindowTest : public ::testing::Test {
 protected:
  bool Fits(RateWindow& window) { return window.When(1, now_) <= now_; }

  // Sends requests as long as they fit at once, and returns their number.
  int SendAll(RateWindow& window) {
    int sent = 0;
    for (; Fits(window); ++sent) {
      window.Begin(now_, /*waited=*/false);
      window.Sent(now_);
    }
    return sent;
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST_F(RateWindowTest, AFifthOfAPacedWindowMayBeginAtOnce) {
  RateWindow window({60, absl::Seconds(1)});
  EXPECT_EQ(SendAll(window), 12);
  now_ += absl::Milliseconds(17);
  EXPECT_EQ(SendAll(window), 1);
}

TEST_F(RateWindowTest, ALongWindowMayBeUsedAtOnceAndThenNotBeforeItsEnd) {
  RateWindow window({1000, absl::Hours(24)});
  EXPECT_EQ(SendAll(window), 1000);
  EXPECT_EQ(window.When(1, now_), now_ + absl::Hours(24) + absl::Seconds(1));
  now_ += absl::Hours(24);
  EXPECT_EQ(SendAll(window), 0);
  now_ += absl::Seconds(2);
  EXPECT_EQ(SendAll(window), 1000);
}

TEST_F(RateWindowTest, ARequestCountsFromTheTimeWhenItWasSent) {
  RateWindow window({1, absl::Minutes(1)});
  window.Begin(now_, false);
  now_ += absl::Seconds(30);
  window.Sent(now_);
  EXPECT_EQ(window.When(1, now_), now_ + absl::Minutes(1) * 1.01);
}

TEST_F(RateWindowTest, AWithdrawnRequestDoesNotCount) {
  RateWindow window({1, absl::Seconds(1)});
  window.Begin(now_, false);
  EXPECT_FALSE(Fits(window));
  window.Withdraw();
  EXPECT_TRUE(Fits(window));
  EXPECT_TRUE(window.IsEmpty(now_));
}

TEST_F(RateWindowTest, AfterAWaitRequestsBeginAtEvenDistances) {
  RateWindow window({60, absl::Seconds(1)});
  SendAll(window);
  for (int i = 0; i < 20; ++i) {
    now_ = window.When(1, now_);
    window.Begin(now_, /*waited=*/true);
    window.Sent(now_);
    EXPECT_EQ(window.When(1, now_), now_ + absl::Seconds(1.01) / 60);
  }
}

TEST_F(RateWindowTest, AfterALateTimerATenthCatchesUp) {
  RateWindow window({60, absl::Seconds(1)});
  SendAll(window);
  now_ = window.When(1, now_) + absl::Milliseconds(500);
  int sent = 0;
  for (; Fits(window); ++sent) {
    window.Begin(now_, /*waited=*/true);
    window.Sent(now_);
  }
  EXPECT_EQ(sent, 6);
}

TEST_F(RateWindowTest, StatesWhenSeveralRequestsFit) {
  RateWindow window({10, absl::Seconds(1)});
  SendAll(window);
  for (int count = 1; count <= 30; ++count) {
    RateWindow copy = window;
    const absl::Time when = window.When(count, now_);
    absl::Time then = now_;
    for (int i = 0; i < count; ++i) {
      then = std::max(then, copy.When(1, then));
      copy.Begin(then, /*waited=*/true);
      copy.Sent(then);
    }
    EXPECT_LE(then, when + absl::Nanoseconds(100)) << count;
    EXPECT_GE(then, when - absl::Milliseconds(210)) << count;
  }
}

TEST_F(RateWindowTest, AShareIsAPartOfTheRequests) {
  RateWindow window({1000, absl::Hours(1)});
  window.SetShare(0.25, now_);
  EXPECT_EQ(SendAll(window), 250);
  window.SetShare(0.5, now_);
  EXPECT_EQ(SendAll(window), 250);
  window.SetShare(0.1, now_);
  EXPECT_EQ(SendAll(window), 0);
}

TEST_F(RateWindowTest, AShareOfLessThanOneRequestMeansALongerWindow) {
  RateWindow window({1, absl::Seconds(1)});
  window.SetShare(0.25, now_);
  EXPECT_EQ(SendAll(window), 1);
  EXPECT_EQ(window.When(1, now_), now_ + absl::Seconds(4.04));
}

TEST_F(RateWindowTest, AShareThatGrowsAgainDoesNotWaitForTheLongInterval) {
  RateWindow window({60, absl::Seconds(1)});
  window.SetShare(0, now_);
  EXPECT_EQ(SendAll(window), 1);
  EXPECT_GT(window.When(1, now_), now_ + absl::Hours(1));
  window.SetShare(0.5, now_);
  EXPECT_LE(window.When(1, now_), now_ + absl::Milliseconds(34));
}

TEST_F(RateWindowTest, AShareThatGrowsLetsNoMoreRequestsBeginAtOnce) {
  RateWindow window({100, absl::Seconds(1)});
  window.SetShare(0.1, now_);
  window.SetShare(1, now_);
  EXPECT_EQ(SendAll(window), 2);
  now_ += absl::Seconds(1);
  EXPECT_EQ(SendAll(window), 20);
}

TEST_F(RateWindowTest, AThirdThatWasRoundedDownIsAThirdOfTheRequests) {
  RateWindow window({60, absl::Minutes(1)});
  window.SetShare(0.333333, now_);
  EXPECT_EQ(SendAll(window), 20);
}

TEST_F(RateWindowTest, RequestsThatHaveLeftTheWindowDelayNothingAfterTheShareHasShrunk) {
  RateWindow window({60, absl::Seconds(1)});
  EXPECT_EQ(SendAll(window), 12);
  window.SetShare(0.17, now_);
  now_ += absl::Seconds(10);
  EXPECT_TRUE(Fits(window));
}

TEST_F(RateWindowTest, AHalfSpeedDoublesTheWindow) {
  RateWindow window({60, absl::Seconds(1)});
  window.SetSpeed(0.5);
  EXPECT_NEAR(window.PerSecond(now_), 29.7, 0.01);
}

TEST_F(RateWindowTest, TheRequestsOfOthersCountForOneWindow) {
  RateWindow window({100, absl::Minutes(1)});
  window.SetOthers(90, now_);
  EXPECT_EQ(SendAll(window), 10);
  now_ += absl::Minutes(2);
  EXPECT_EQ(SendAll(window), 100);
}

TEST_F(RateWindowTest, HasPlacesForAsManyAsMayBeginAtOnceIfFewHaveBegun) {
  RateWindow window({100, absl::Seconds(1)});
  EXPECT_TRUE(window.HasPlaces(1000, now_));
  window.Begin(now_, /*waited=*/true);
  window.Sent(now_);
  EXPECT_FALSE(window.HasPlaces(1000, now_)) << "the next requests must wait for each other";
  EXPECT_TRUE(window.HasPlaces(2, now_));
  now_ += absl::Milliseconds(11);
  EXPECT_TRUE(window.HasPlaces(1000, now_));
}

TEST_F(RateWindowTest, ALongWindowHasPlacesForWhatItsLimitLeaves) {
  RateWindow window({3, absl::Hours(1)});
  window.Begin(now_, /*waited=*/true);
  window.Sent(now_);
  EXPECT_TRUE(window.HasPlaces(2, now_));
  EXPECT_FALSE(window.HasPlaces(3, now_));
}

}  // namespace
}  // namespace stampgate
