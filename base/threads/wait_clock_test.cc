#include "base/threads/wait_clock.h"

#include <gtest/gtest.h>

namespace stampgate {
namespace {

TEST(WaitClockTest, MeasuresTheCurrentWait) {
  WaitClock::Clock::time_point now;
  WaitClock clock([&now] { return now; });
  EXPECT_EQ(clock.under_way(), absl::ZeroDuration());
  clock.Begin();
  now += std::chrono::seconds(3);
  EXPECT_EQ(clock.under_way(), absl::Seconds(3));
  clock.Begin();
  EXPECT_EQ(clock.under_way(), absl::ZeroDuration());
  now += absl::ToChronoNanoseconds(kWriteHangsAfter);
  EXPECT_FALSE(clock.hangs());
  now += std::chrono::nanoseconds(1);
  EXPECT_TRUE(clock.hangs());
  clock.End();
  EXPECT_EQ(clock.under_way(), absl::ZeroDuration());
  EXPECT_FALSE(clock.hangs());
}

}  // namespace
}  // namespace stampgate
