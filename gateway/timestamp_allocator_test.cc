#include "gateway/timestamp_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

namespace stampgate {
namespace {

using ::testing::Optional;

constexpr uint64_t kStartMs = 1755500000000;
const absl::Time kStart = absl::FromUnixMillis(kStartMs);
constexpr uint64_t kContent = 7;

// A moment long after the start.
constexpr uint64_t kNowMs = kStartMs + 60000;
const absl::Time kNow = absl::FromUnixMillis(kNowMs);

TEST(TimestampAllocatorTest, ChoosesTheTimeOfTheClock) {
  TimestampAllocator allocator(kStart, 0, 1);
  EXPECT_THAT(allocator.Choose(kContent, kNow), Optional(kNowMs));
}

TEST(TimestampAllocatorTest, KeepsEqualContentsApart) {
  TimestampAllocator allocator(kStart, 0, 1);
  EXPECT_THAT(allocator.Choose(kContent, kNow), Optional(kNowMs));
  EXPECT_THAT(allocator.Choose(kContent, kNow), Optional(kNowMs + 1));
  EXPECT_THAT(allocator.Choose(kContent, kNow), Optional(kNowMs + 2));
}

TEST(TimestampAllocatorTest, OtherContentsDoNotPushEachOtherAhead) {
  TimestampAllocator allocator(kStart, 0, 1);
  EXPECT_THAT(allocator.Choose(1, kNow), Optional(kNowMs));
  EXPECT_THAT(allocator.Choose(2, kNow), Optional(kNowMs));
}

TEST(TimestampAllocatorTest, StaysWithinASecondOfTheClock) {
  TimestampAllocator allocator(kStart, 0, 1);
  for (uint64_t i = 0; i <= 1000; ++i) ASSERT_THAT(allocator.Choose(kContent, kNow), Optional(kNowMs + i));
  EXPECT_EQ(allocator.Choose(kContent, kNow), std::nullopt);
  EXPECT_THAT(allocator.Choose(kContent, kNow + absl::Milliseconds(1)), Optional(kNowMs + 1001));
  EXPECT_EQ(allocator.Choose(kContent, kNow + absl::Milliseconds(1)), std::nullopt);
}

TEST(TimestampAllocatorTest, AValueThatWasRefusedIsNotUsedUp) {
  TimestampAllocator allocator(kStart, 0, 1);
  for (int i = 0; i <= 1000; ++i) allocator.Choose(kContent, kNow);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(allocator.Choose(kContent, kNow), std::nullopt);
  EXPECT_THAT(allocator.Choose(kContent, kNow + allocator.RetryDelay()), Optional(kNowMs + 1001));
}

TEST(TimestampAllocatorTest, LeavesOutWhatCallersHaveSet) {
  TimestampAllocator allocator(kStart, 0, 1);
  allocator.Note(kContent, kNowMs, kNow - absl::Minutes(1));
  allocator.Note(kContent, kNowMs + 2, kNow);
  EXPECT_THAT(allocator.Choose(kContent, kNow), Optional(kNowMs + 1));
  EXPECT_THAT(allocator.Choose(kContent, kNow), Optional(kNowMs + 3));
  EXPECT_THAT(allocator.Choose(kContent + 1, kNow), Optional(kNowMs));
}

TEST(TimestampAllocatorTest, RemembersWhatCallersSetFiveMinutesAhead) {
  TimestampAllocator allocator(kStart, 0, 1);
  const absl::Time then = kNow + absl::Minutes(5);
  allocator.Note(kContent, absl::ToUnixMillis(then), kNow);
  for (absl::Time now = kNow; now < then; now += absl::Seconds(10)) allocator.Choose(kContent, now);
  EXPECT_THAT(allocator.Choose(kContent, then), Optional(static_cast<uint64_t>(absl::ToUnixMillis(then)) + 1));
}

TEST(TimestampAllocatorTest, AClockThatStepsBackBringsNoValueTwice) {
  TimestampAllocator allocator(kStart, 0, 1);
  std::set<uint64_t> values;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(values.insert(*allocator.Choose(kContent, kNow)).second);
  // Half a second back: the values go on, still within a second of the clock.
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(values.insert(*allocator.Choose(kContent, kNow - absl::Milliseconds(500))).second);
  }
  // Ten seconds back: there is nothing that is both new and near.
  EXPECT_EQ(allocator.Choose(kContent, kNow - absl::Seconds(10)), std::nullopt);
}

TEST(TimestampAllocatorTest, ARestartBringsNoValueTwice) {
  TimestampAllocator before(kStart - absl::Hours(1), 0, 1);
  std::set<uint64_t> values;
  while (std::optional<uint64_t> value = before.Choose(kContent, kStart)) values.insert(*value);
  EXPECT_EQ(*values.rbegin(), kStartMs + 1000);

  TimestampAllocator after(kStart + absl::Milliseconds(1), 0, 1);
  while (std::optional<uint64_t> value = after.Choose(kContent, kStart + absl::Milliseconds(500))) {
    EXPECT_TRUE(values.insert(*value).second) << *value;
  }
  EXPECT_THAT(after.Choose(kContent, kStart + absl::Milliseconds(600)), Optional(kStartMs + 1501));
}

TEST(TimestampAllocatorTest, ReplicasUseDisjointValues) {
  std::set<uint64_t> values;
  for (uint64_t index = 0; index < 3; ++index) {
    TimestampAllocator allocator(kStart, index, 3);
    for (int i = 0; i < 100; ++i) {
      const uint64_t value = *allocator.Choose(kContent, kNow);
      EXPECT_EQ(value % 3, index);
      EXPECT_GE(value, kNowMs);
      EXPECT_TRUE(values.insert(value).second);
    }
  }
}

TEST(TimestampAllocatorTest, ThreadsGetDistinctValues) {
  TimestampAllocator allocator(kStart, 0, 1);
  constexpr int kThreads = 8;
  std::vector<std::vector<uint64_t>> values(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&allocator, &mine = values[t]] {
      for (int i = 0; i < 100; ++i) mine.push_back(*allocator.Choose(kContent, kNow));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& mine : values) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), kThreads * 100u);
}

}  // namespace
}  // namespace stampgate
