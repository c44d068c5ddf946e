#include "gateway/flood_bound.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1767323045);
constexpr absl::Duration kTick = absl::Milliseconds(1);

TEST(FloodBoundTest, WritesAHundredASecondOfEachCallerAndCountsTheRest) {
  FloodBound denials;
  for (int i = 0; i < 150; ++i) {
    EXPECT_EQ(denials.Admit("a", kStart + i * kTick), i < 100);
    EXPECT_EQ(denials.Admit("b", kStart + i * kTick), i < 100);
  }
  EXPECT_TRUE(denials.counting());
  EXPECT_TRUE(denials.Take(kStart + absl::Seconds(1), false).empty());
  // The first that was counted came at 100 ms.
  const auto taken = denials.Take(kStart + absl::Milliseconds(1100), false);
  ASSERT_EQ(taken.size(), 2);
  EXPECT_EQ(taken[0].name, "a");
  EXPECT_EQ(taken[0].count, 50);
  EXPECT_EQ(taken[0].since, kStart + absl::Milliseconds(100));
  EXPECT_EQ(taken[1].name, "b");
  EXPECT_FALSE(denials.counting());
  EXPECT_TRUE(denials.Take(kStart + absl::Seconds(9), true).empty());
}

TEST(FloodBoundTest, TheNextSecondIsWrittenAgain) {
  FloodBound denials;
  for (int i = 0; i < 101; ++i) denials.Admit("a", kStart);
  EXPECT_FALSE(denials.Admit("a", kStart + absl::Milliseconds(999)));
  EXPECT_TRUE(denials.Admit("a", kStart + absl::Seconds(1)));
  // A count does not get lost when its second ends.
  const auto taken = denials.Take(kStart + absl::Seconds(1), false);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].count, 2);
}

TEST(FloodBoundTest, AClockThatIsSetBackStopsNothing) {
  FloodBound denials;
  for (int i = 0; i < 101; ++i) denials.Admit("a", kStart);
  EXPECT_TRUE(denials.Admit("a", kStart - absl::Hours(1)));
  EXPECT_EQ(denials.Take(kStart - absl::Hours(1), false).size(), 1);
}

TEST(FloodBoundTest, WhatIsGivenBackIsTakenAgain) {
  FloodBound denials;
  for (int i = 0; i < 103; ++i) denials.Admit("a", kStart);
  auto taken = denials.Take(kStart, true);
  ASSERT_EQ(taken.size(), 1);
  denials.GiveBack(taken[0]);
  denials.Count("a", kStart + absl::Seconds(5));
  taken = denials.Take(kStart + absl::Seconds(5), false);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].count, 4);
  EXPECT_EQ(taken[0].since, kStart);
}

TEST(FloodBoundTest, CallersAreBounded) {
  FloodBound denials;
  for (size_t i = 0; i < FloodBound::kNames; ++i) EXPECT_TRUE(denials.Admit(absl::StrCat("caller", i), kStart));
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(denials.Admit(absl::StrCat("other", i), kStart));
  EXPECT_TRUE(denials.Admit("caller7", kStart));
  const auto taken = denials.Take(kStart + absl::Seconds(1), false);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].name, FloodBound::kOthers);
  EXPECT_EQ(taken[0].count, 1000);
  // They are forgotten when their second is over.
  EXPECT_TRUE(denials.Admit("other1", kStart + absl::Seconds(1)));
}

TEST(FloodBoundTest, EveryDenialIsWrittenOrCounted) {
  std::mt19937 random(2);
  FloodBound denials;
  std::map<std::string, uint64_t> expected;
  std::map<std::string, uint64_t> found;
  absl::Time now = kStart;
  for (int i = 0; i < 200000; ++i) {
    now += absl::Microseconds(random() % 2000);
    const std::string caller = absl::StrCat("c", random() % 7);
    ++expected[caller];
    if (denials.Admit(caller, now)) ++found[caller];
    if (random() % 50 == 0) {
      for (const auto& counted : denials.Take(now, random() % 10 == 0)) {
        if (random() % 3 == 0) {
          denials.GiveBack(counted);
        } else {
          found[counted.name] += counted.count;
        }
      }
    }
  }
  for (const auto& counted : denials.Take(now, true)) found[counted.name] += counted.count;
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace stampgate
