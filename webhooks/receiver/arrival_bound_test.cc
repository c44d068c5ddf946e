#include "webhooks/receiver/arrival_bound.h"

#include <gtest/gtest.h>

#include <limits>

namespace stampgate {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr ArrivalBound::Time kStart{seconds(1000)};

TEST(ArrivalBoundTest, ASilentSenderHasTheGraceTime) {
  const ArrivalBound arrival(kStart, 1000);
  EXPECT_EQ(arrival.bound(), kStart + ArrivalBound::kGrace);
}

TEST(ArrivalBoundTest, ASenderWithTheLeastSpeedIsNeverTooLate) {
  ArrivalBound arrival(kStart, 1000);
  ArrivalBound::Time now = kStart;
  for (int i = 0; i < 10000; ++i) {
    now += milliseconds(100);
    ASSERT_LT(now, arrival.bound()) << i;
    arrival.Received(100, now);
  }
}

TEST(ArrivalBoundTest, ASlowerSenderUsesUpTheGraceTime) {
  ArrivalBound arrival(kStart, 1000);
  ArrivalBound::Time now = kStart;
  int pieces = 0;
  for (;; ++pieces) {
    now += milliseconds(100);
    if (now >= arrival.bound()) break;
    arrival.Received(50, now);  // half of the least speed
  }
  EXPECT_NEAR(pieces, 100, 2) << "half of 10 s are the grace time";
}

TEST(ArrivalBoundTest, ASenderCannotPauseForLongerBecauseItWasFastBefore) {
  ArrivalBound arrival(kStart, 1000);
  const ArrivalBound::Time now = kStart + seconds(1);
  arrival.Received(4 << 20, now);
  EXPECT_EQ(arrival.bound(), now + ArrivalBound::kGrace);
  arrival.Received(std::numeric_limits<size_t>::max(), now);
  EXPECT_EQ(arrival.bound(), now + ArrivalBound::kGrace);
  ArrivalBound slowest(kStart, 1);
  slowest.Received(std::numeric_limits<size_t>::max(), now);
  EXPECT_EQ(slowest.bound(), now + ArrivalBound::kGrace);
}

}  // namespace
}  // namespace stampgate
