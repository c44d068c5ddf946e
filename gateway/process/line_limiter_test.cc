#include "gateway/process/line_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

using ::testing::SizeIs;
using Who = FloodBound::Who;

constexpr Who kKnown = Who::kKnown;
constexpr Who kStranger = Who::kStranger;

const absl::Time kStart = absl::FromUnixSeconds(1767323045);
constexpr absl::Duration kTick = absl::Milliseconds(1);
constexpr FloodBound::Limits kLimits = {.window = absl::Seconds(1), .per_window = 100};

TEST(FloodBoundTest, LimitsTheLinesOfEachCallerInAWindow) {
  FloodBound denials(kLimits);
  for (int i = 0; i < 150; ++i) {
    EXPECT_EQ(denials.Admit("a", kKnown, kStart + i * kTick), i < 100);
    EXPECT_EQ(denials.Admit("(b)", kStranger, kStart + i * kTick), i < 100);
  }
  EXPECT_TRUE(denials.counting());
  EXPECT_TRUE(denials.Take(kStart + absl::Seconds(1), false).empty());
  // The first counted line was the line at 100 ms.
  const auto taken = denials.Take(kStart + absl::Milliseconds(1100), false);
  ASSERT_EQ(taken.size(), 2);
  EXPECT_EQ(taken[0].name, "(b)");
  EXPECT_EQ(taken[0].count, 50);
  EXPECT_EQ(taken[0].since, kStart + absl::Milliseconds(100));
  EXPECT_EQ(taken[1].name, "a");
  EXPECT_FALSE(denials.counting());
  EXPECT_TRUE(denials.Take(kStart + absl::Seconds(9), true).empty());
}

TEST(FloodBoundTest, LinesAreAdmittedAgainInTheNextWindow) {
  FloodBound denials(kLimits);
  for (int i = 0; i < 101; ++i) denials.Admit("a", kKnown, kStart);
  EXPECT_FALSE(denials.Admit("a", kKnown, kStart + absl::Milliseconds(999)));
  EXPECT_TRUE(denials.Admit("a", kKnown, kStart + absl::Seconds(1)));
  // A count is kept after the end of its window.
  const auto taken = denials.Take(kStart + absl::Seconds(1), false);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].count, 2);
}

TEST(FloodBoundTest, LinesAreAdmittedAfterTheClockIsSetBack) {
  FloodBound denials(kLimits);
  for (int i = 0; i < 101; ++i) denials.Admit("a", kKnown, kStart);
  EXPECT_TRUE(denials.Admit("a", kKnown, kStart - absl::Hours(1)));
  EXPECT_EQ(denials.Take(kStart - absl::Hours(1), false).size(), 1);
}

TEST(FloodBoundTest, TakeReturnsACountThatWasGivenBack) {
  FloodBound denials(kLimits);
  for (int i = 0; i < 103; ++i) denials.Admit("a", kKnown, kStart);
  auto taken = denials.Take(kStart, true);
  ASSERT_EQ(taken.size(), 1);
  denials.GiveBack(taken[0]);
  denials.Count("a", kKnown, kStart + absl::Seconds(5));
  taken = denials.Take(kStart + absl::Seconds(5), false);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].count, 4);
  EXPECT_EQ(taken[0].since, kStart);
}

TEST(FloodBoundTest, StrangersNeverUseTheBudgetOfACaller) {
  FloodBound denials(kLimits);
  for (size_t i = 0; i < FloodBound::kStrangers; ++i) {
    EXPECT_TRUE(denials.Admit(absl::StrCat("(s", i, ")"), kStranger, kStart));
  }
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(denials.Admit(absl::StrCat("(t", i, ")"), kStranger, kStart));
  EXPECT_TRUE(denials.Admit("(s7)", kStranger, kStart));
  EXPECT_TRUE(denials.Admit("payments", kKnown, kStart));
  const auto taken = denials.Take(kStart + absl::Seconds(1), false);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].name, FloodBound::kOthers);
  EXPECT_EQ(taken[0].count, 1000);
  // FloodBound forgets strangers when their window is over.
  EXPECT_TRUE(denials.Admit("(t1)", kStranger, kStart + absl::Seconds(1)));
}

TEST(FloodBoundTest, ACallerHasADailyBudget) {
  FloodBound denials({.window = absl::Seconds(1), .per_window = 3, .daily = 5});
  int written = 0;
  for (int second = 0; second < 24 * 60 * 60; ++second) {
    const absl::Time now = kStart + absl::Seconds(second);
    for (int i = 0; i < 4; ++i) written += denials.Admit("a", kKnown, now) ? 1 : 0;
    denials.Take(now, false);  // must not reset the number of lines that the name had on this day
  }
  EXPECT_EQ(written, 5);
  EXPECT_TRUE(denials.Admit("b", kKnown, kStart + absl::Hours(23)));
  EXPECT_TRUE(denials.Admit("a", kKnown, kStart + absl::Hours(24)));
}

TEST(FloodBoundTest, StrangersShareABudgetForLinesAndCounts) {
  FloodBound denials({.window = absl::Seconds(1), .per_window = 1, .strangers_daily = 10});
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(denials.Admit(absl::StrCat("(s", i, ")"), kStranger, kStart));
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(denials.Admit(absl::StrCat("(s", i, ")"), kStranger, kStart));
  // The budget allows two more counts. The common count contains all other lines.
  auto taken = denials.Take(kStart + absl::Seconds(1), false);
  ASSERT_THAT(taken, SizeIs(3));
  EXPECT_EQ(taken[0].name, FloodBound::kOthers);
  EXPECT_EQ(taken[0].count, 6);
  EXPECT_FALSE(denials.Admit("(new)", kStranger, kStart + absl::Seconds(1)));
  // Known callers do not share the budget of strangers.
  EXPECT_TRUE(denials.Admit("payments", kKnown, kStart + absl::Seconds(1)));
  taken = denials.Take(kStart + absl::Seconds(2), false);
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_EQ(taken[0].name, FloodBound::kOthers);
  EXPECT_TRUE(denials.Admit("(new)", kStranger, kStart + absl::Hours(24)));
}

// Counts of strangers that are moved to the common count began at different times, and each is older than a window.
TEST(FloodBoundTest, TakeReturnsTheCommonCountOnceInAWindow) {
  FloodBound denials({.window = absl::Minutes(1), .per_window = 1, .strangers_daily = 0});
  int lines = 0;
  for (int second = 0; second < 3600; ++second) {
    const absl::Time now = kStart + absl::Seconds(second);
    EXPECT_FALSE(denials.Admit(absl::StrCat("(s", second % 100, ")"), kStranger, now));
    lines += static_cast<int>(denials.Take(now, false).size());
  }
  EXPECT_LE(lines, 60);
  EXPECT_GE(lines, 50);
}

TEST(FloodBoundTest, EveryDenialIsWrittenOrCounted) {
  std::mt19937 random(2);
  FloodBound denials({.window = absl::Milliseconds(100), .per_window = 20, .daily = 3000, .strangers_daily = 2000});
  std::map<std::string, uint64_t> expected;
  std::map<std::string, uint64_t> found;
  absl::Time now = kStart;
  for (int i = 0; i < 200000; ++i) {
    now += absl::Microseconds(random() % 2000);
    const bool stranger = random() % 3 == 0;
    const std::string caller = stranger ? absl::StrCat("(s", random() % 2000, ")") : absl::StrCat("c", random() % 7);
    ++expected[stranger ? "(strangers)" : caller];
    const auto of = [](const std::string& name) { return name[0] == '(' ? std::string("(strangers)") : name; };
    if (denials.Admit(caller, stranger ? kStranger : kKnown, now)) ++found[of(caller)];
    if (random() % 50 == 0) {
      for (const auto& counted : denials.Take(now, random() % 10 == 0)) {
        if (random() % 3 == 0) {
          denials.GiveBack(counted);
        } else {
          found[of(counted.name)] += counted.count;
        }
      }
    }
  }
  for (const auto& counted : denials.Take(now, true)) {
    found[counted.name[0] == '(' ? "(strangers)" : counted.name] += counted.count;
  }
  EXPECT_FALSE(denials.counting());
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace stampgate
