#include "base/disk/age_clock.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

AgeClock StartedAt(absl::Time now) { return {.age_us = 0, .wall_us = absl::ToUnixMicros(now)}; }

TEST(AgeClockTest, FollowsTheSystemsClock) {
  AgeClock clock = StartedAt(kStart);
  for (int second = 1; second <= 100; ++second) clock.Advance(kStart + absl::Seconds(second));
  EXPECT_EQ(clock.age_us, absl::ToInt64Microseconds(absl::Seconds(100)));
}

TEST(AgeClockTest, AJumpForwardOfTheSystemsClockCountsAsOneHour) {
  AgeClock clock = StartedAt(kStart);
  clock.Advance(kStart + absl::Hours(24 * 365));
  EXPECT_EQ(clock.age_us, absl::ToInt64Microseconds(absl::Hours(1)));
  clock.Advance(kStart + absl::Hours(24 * 365) + absl::Seconds(1));
  EXPECT_EQ(clock.age_us, absl::ToInt64Microseconds(absl::Hours(1) + absl::Seconds(1)));
}

TEST(AgeClockTest, AJumpBackOfTheSystemsClockCountsAsNothing) {
  AgeClock clock = StartedAt(kStart);
  clock.Advance(kStart - absl::Hours(24));
  EXPECT_EQ(clock.age_us, 0);
  clock.Advance(kStart - absl::Hours(24) + absl::Seconds(5));
  EXPECT_EQ(clock.age_us, absl::ToInt64Microseconds(absl::Seconds(5)));
}

}  // namespace
}  // namespace stampgate
