#include "gateway/operations/timestamp_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace stampgate {
namespace {

using ::testing::Optional;

constexpr uint64_t kStartMs = 1755500000000;
const absl::Time kStart = absl::FromUnixMillis(kStartMs);
constexpr uint64_t kContent = 7;

// A time that is one minute after kStart.
constexpr uint64_t kNowMs = kStartMs + 60000;
const absl::Time kNow = absl::FromUnixMillis(kNowMs);

std::optional<uint64_t> Choose(TimestampAllocator& allocator, uint64_t content, absl::Time now) {
  return allocator.Choose(content, now).value;
}

TEST(TimestampAllocatorTest, ChoosesTheTimeOfTheClock) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  EXPECT_THAT(Choose(allocator, kContent, kNow), Optional(kNowMs));
  EXPECT_EQ(allocator.next_ms(), kNowMs + 1);
}

TEST(TimestampAllocatorTest, EqualContentsGetDifferentValues) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  for (uint64_t i = 0; i < 3; ++i) EXPECT_THAT(Choose(allocator, kContent, kNow), Optional(kNowMs + i));
}

TEST(TimestampAllocatorTest, DifferentContentsMayGetTheSameValue) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  EXPECT_THAT(Choose(allocator, 1, kNow), Optional(kNowMs));
  EXPECT_THAT(Choose(allocator, 2, kNow), Optional(kNowMs));
}

TEST(TimestampAllocatorTest, ChoosesNoValueMoreThanASecondAheadOfTheClock) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  for (uint64_t i = 0; i <= 1000; ++i) ASSERT_THAT(Choose(allocator, kContent, kNow), Optional(kNowMs + i));
  const TimestampAllocator::Choice none = allocator.Choose(kContent, kNow);
  EXPECT_EQ(none.value, std::nullopt);
  EXPECT_EQ(none.retry_delay, absl::Milliseconds(1));
  EXPECT_THAT(Choose(allocator, kContent, kNow + none.retry_delay), Optional(kNowMs + 1001));
  EXPECT_EQ(Choose(allocator, kContent, kNow + none.retry_delay), std::nullopt);
}

TEST(TimestampAllocatorTest, ChoosesNoValueThatACallerHasSet) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  allocator.Note(kContent, kNowMs, kNow - absl::Minutes(1));
  allocator.Note(kContent, kNowMs + 2, kNow);
  EXPECT_THAT(Choose(allocator, kContent, kNow), Optional(kNowMs + 1));
  EXPECT_THAT(Choose(allocator, kContent, kNow), Optional(kNowMs + 3));
  EXPECT_THAT(Choose(allocator, kContent + 1, kNow), Optional(kNowMs));
}

TEST(TimestampAllocatorTest, RemembersAValueThatACallerHasSetFiveMinutesAhead) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  const absl::Time then = kNow + absl::Minutes(5);
  allocator.Note(kContent, absl::ToUnixMillis(then), kNow);
  for (absl::Time now = kNow; now < then; now += absl::Seconds(10)) Choose(allocator, kContent, now);
  EXPECT_THAT(Choose(allocator, kContent, then), Optional(static_cast<uint64_t>(absl::ToUnixMillis(then)) + 1));
}

TEST(TimestampAllocatorTest, AfterAShortStepBackTheValuesOfAContentKeepRising) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  EXPECT_THAT(Choose(allocator, kContent, kNow), Optional(kNowMs));
  EXPECT_THAT(Choose(allocator, kContent, kNow - absl::Seconds(10)), Optional(kNowMs + 1));
  EXPECT_THAT(Choose(allocator, kContent + 1, kNow - absl::Seconds(10)), Optional(kNowMs - 10000));
}

TEST(TimestampAllocatorTest, AfterALongStepBackAllValuesAreAboveEarlierValues) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  EXPECT_THAT(Choose(allocator, kContent, kNow), Optional(kNowMs));
  const absl::Time back = kNow - absl::Seconds(58);
  EXPECT_THAT(Choose(allocator, kContent, back), Optional(kNowMs + 1));
  EXPECT_THAT(Choose(allocator, kContent + 1, back), Optional(kNowMs + 1));
}

TEST(TimestampAllocatorTest, AValueMoreThanAMinuteAheadIsFreeAfterTheRetryDelay) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  EXPECT_THAT(Choose(allocator, kContent, kNow), Optional(kNowMs));
  const absl::Time back = kNow - absl::Minutes(10);
  const TimestampAllocator::Choice none = allocator.Choose(kContent + 1, back);
  EXPECT_EQ(none.value, std::nullopt);
  EXPECT_EQ(none.retry_delay, absl::Minutes(9) + absl::Milliseconds(1));
  EXPECT_EQ(Choose(allocator, kContent + 1, back + none.retry_delay - absl::Milliseconds(1)), std::nullopt);
  EXPECT_THAT(Choose(allocator, kContent + 1, back + none.retry_delay), Optional(kNowMs + 1));
}

TEST(TimestampAllocatorTest, AFloorLessThanAMinuteAheadOfTheClockDelaysNoCall) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  EXPECT_THAT(Choose(allocator, kContent, kStart - absl::Seconds(58)), Optional(kStartMs));
}

TEST(TimestampAllocatorTest, NoContentGetsAValueTwiceHoweverTheClockIsSet) {
  std::mt19937_64 random(20261122);
  for (int round = 0; round < 200; ++round) {
    TimestampAllocator allocator(kStartMs, {0, 1});
    std::set<std::pair<uint64_t, uint64_t>> given;
    absl::Time now = kNow;
    for (int i = 0; i < 2000; ++i) {
      now += absl::Milliseconds(random() % 2000);
      if (random() % 50 == 0) now += absl::Milliseconds(static_cast<int64_t>(random() % 900'000) - 450'000);
      const uint64_t content = random() % 3;
      TimestampAllocator::Choice choice = allocator.Choose(content, now);
      if (!choice.value.has_value()) {
        now += choice.retry_delay;
        choice = allocator.Choose(content, now);
        ASSERT_TRUE(choice.value.has_value()) << "no value was free after the retry delay";
      }
      ASSERT_TRUE(given.emplace(content, *choice.value).second) << "round " << round << ", call " << i;
      ASSERT_LE(*choice.value, static_cast<uint64_t>(absl::ToUnixMillis(now)) + 60'000);
      ASSERT_LT(*choice.value, allocator.next_ms());
    }
  }
}

TEST(TimestampAllocatorTest, NoValueAtOrAboveTheMarkIsChosen) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  allocator.SetMark(kNowMs + 2);
  EXPECT_THAT(Choose(allocator, kContent, kNow + absl::Milliseconds(1)), Optional(kNowMs - 998));
  for (uint64_t value = kNowMs - 997; value < kNowMs + 2; ++value) {
    ASSERT_THAT(Choose(allocator, kContent, kNow), Optional(value));
  }
  const TimestampAllocator::Choice none = allocator.Choose(kContent, kNow + absl::Minutes(1));
  EXPECT_EQ(none.value, std::nullopt);
  EXPECT_GT(none.retry_delay, absl::ZeroDuration());
  // For another content, the values of the last second before the mark are still free.
  EXPECT_THAT(Choose(allocator, kContent + 1, kNow + absl::Minutes(1)), Optional(kNowMs - 998));
  allocator.SetMark(kNowMs + 100'000);
  EXPECT_THAT(Choose(allocator, kContent, kNow + absl::Minutes(1)), Optional(kNowMs + 60'000));
}

TEST(TimestampAllocatorTest, NoValueIsChosenAgainAfterARestart) {
  TimestampAllocator before(kStartMs, {0, 1});
  std::set<uint64_t> values;
  while (std::optional<uint64_t> value = Choose(before, kContent, kNow)) values.insert(*value);
  TimestampAllocator after(before.next_ms(), {0, 1});
  // For the second process, the clock was set back by 11 s. Its values must still differ from those of the first
  // process.
  while (std::optional<uint64_t> value = Choose(after, kContent, kNow - absl::Seconds(11))) {
    EXPECT_TRUE(values.insert(*value).second) << *value;
  }
  EXPECT_GT(values.size(), 1900u);
}

TEST(TimestampAllocatorTest, ReplicasUseDisjointValues) {
  std::set<uint64_t> values;
  for (uint64_t index = 0; index < 3; ++index) {
    TimestampAllocator allocator(kStartMs, {index, 3});
    for (int i = 0; i < 100; ++i) {
      const uint64_t value = *Choose(allocator, kContent, kNow);
      EXPECT_EQ(value % 3, index);
      EXPECT_GE(value, kNowMs);
      EXPECT_TRUE(values.insert(value).second);
    }
  }
}

TEST(TimestampAllocatorTest, ThreadsGetDistinctValues) {
  TimestampAllocator allocator(kStartMs, {0, 1});
  constexpr int kThreads = 8;
  std::vector<std::vector<uint64_t>> values(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&allocator, &mine = values[t]] {
      for (int i = 0; i < 100; ++i) mine.push_back(*Choose(allocator, kContent, kNow));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& mine : values) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), kThreads * 100u);
}

}  // namespace
}  // namespace stampgate
