#include "gateway/calls/stream_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "translate/testing/status.h"

namespace stampgate {
namespace {

using testing::DetailsOf;
using ::testing::HasSubstr;
using testing::StatusIs;

TEST(StreamSlotsTest, ASlotIsFreeAgainWhenItsStreamEnds) {
  int sum = 0;
  StreamSlots slots(2, 2, "subscriptions", [&sum](int change) { sum += change; });
  std::unique_ptr<StreamSlot> first = *slots.Take("a");
  std::unique_ptr<StreamSlot> second = *slots.Take("a");
  EXPECT_EQ(slots.taken(), 2u);
  EXPECT_EQ(sum, 2);
  first = nullptr;
  EXPECT_EQ(slots.taken(), 1u);
  EXPECT_EQ(sum, 1);
  EXPECT_TRUE(slots.Take("a").ok());
  second = nullptr;
  EXPECT_EQ(slots.taken(), 0u);
  EXPECT_EQ(sum, 0);
}

TEST(StreamSlotsTest, AStreamBeyondTheMaximumIsRejectedAndTakesNoSlot) {
  int changes = 0;
  StreamSlots slots(1, 1, "body reads", [&changes](int) { ++changes; });
  const std::unique_ptr<StreamSlot> only = *slots.Take("a");
  for (int i = 0; i < 2; ++i) {
    const absl::Status status = slots.Take("a").status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("body reads")));
    EXPECT_EQ(DetailsOf(status).reason, "TOO_MANY_SUBSCRIBERS");
    EXPECT_EQ(DetailsOf(status).retry_delay, absl::Seconds(10));
  }
  EXPECT_EQ(slots.taken(), 1u);
  EXPECT_EQ(changes, 1);
}

TEST(StreamSlotsTest, OneCallerCannotTakeTheSlotsOfOthers) {
  int sum = 0;
  StreamSlots slots(3, 2, "subscriptions", [&sum](int change) { sum += change; });
  std::unique_ptr<StreamSlot> first = *slots.Take("a");
  const std::unique_ptr<StreamSlot> second = *slots.Take("a");
  const absl::Status status = slots.Take("a").status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("caller a may have at most 2 subscr")));
  EXPECT_EQ(DetailsOf(status).reason, "TOO_MANY_SUBSCRIBERS");
  EXPECT_EQ(sum, 2);
  EXPECT_TRUE(slots.Take("b").ok());
  first = nullptr;
  EXPECT_TRUE(slots.Take("a").ok());
}

TEST(StreamSlotsTest, FurthestReturnsTheLowestPositionOfAStream) {
  StreamSlots slots(3, 3, "subscriptions");
  EXPECT_EQ(slots.Furthest(), std::nullopt);
  const std::unique_ptr<StreamSlot> without = *slots.Take("a");
  EXPECT_EQ(slots.Furthest(), std::nullopt) << "a stream that has not begun has no position";
  std::unique_ptr<StreamSlot> slow = *slots.Take("a");
  const std::unique_ptr<StreamSlot> fast = *slots.Take("a");
  fast->SetPosition(7);
  EXPECT_EQ(slots.Furthest(), 7);
  slow->SetPosition(0);
  EXPECT_EQ(slots.Furthest(), 0);
  slow->SetPosition(5);
  EXPECT_EQ(slots.Furthest(), 5);
  slow = nullptr;
  EXPECT_EQ(slots.Furthest(), 7);
}

TEST(StreamSlotsTest, ThreadsNeverHoldMoreSlotsThanTheMaximum) {
  static constexpr size_t kMax = 3;
  StreamSlots slots(kMax, kMax, "subscriptions");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&slots] {
      for (Position position = 0; position < 20'000; ++position) {
        const absl::StatusOr<std::unique_ptr<StreamSlot>> slot = slots.Take("a");
        if (slot.ok()) (*slot)->SetPosition(position);
        ASSERT_LE(slots.taken(), kMax);
        slots.Furthest();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slots.taken(), 0u);
}

}  // namespace
}  // namespace stampgate
