#include "webhooks/log/event_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "webhooks/verification/testing.h"

namespace stampgate {
namespace {

WaitingEvent Waiting(int number, size_t body_bytes = 10) {
  return {MakeVerifiedEvent(absl::StrCat("event-", number), std::string(body_bytes, 'x')), [](const auto&) {}};
}

bool Push(EventQueue& queue, WaitingEvent event) { return queue.Push(event).ok(); }

TEST(EventQueueTest, KeepsTheOrder) {
  EventQueue queue(1 << 20);
  EXPECT_TRUE(queue.empty());
  for (int number = 1; number <= 3; ++number) EXPECT_TRUE(Push(queue, Waiting(number)));
  EXPECT_FALSE(queue.empty());
  const std::vector<WaitingEvent> batch = queue.TakeBatch();
  ASSERT_EQ(batch.size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(batch[i].event->event_id, absl::StrCat("event-", i + 1));
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(queue.TakeBatch().empty());
}

TEST(EventQueueTest, ABatchHasALimitedNumberOfEvents) {
  EventQueue queue(64 << 20);
  for (int number = 1; number <= 300; ++number) ASSERT_TRUE(Push(queue, Waiting(number)));
  EXPECT_EQ(queue.TakeBatch().size(), 256);
  EXPECT_EQ(queue.TakeBatch().size(), 44);
}

TEST(EventQueueTest, ABatchHasALimitedSizeButAtLeastOneEvent) {
  EventQueue queue(64 << 20);
  for (const size_t bytes : {9 << 20, 3 << 20, 3 << 20, 3 << 20}) ASSERT_TRUE(Push(queue, Waiting(1, bytes)));
  EXPECT_EQ(queue.TakeBatch().size(), 1);
  EXPECT_EQ(queue.TakeBatch().size(), 2);
  EXPECT_EQ(queue.TakeAll().size(), 1);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueueTest, EventsUseMemoryUntilTheyAreReleased) {
  WaitingEvent second = Waiting(2);
  EventQueue queue(2 * QueuedBytes(*second.event) - 1);
  ASSERT_TRUE(Push(queue, Waiting(1)));
  EXPECT_TRUE(absl::IsResourceExhausted(queue.Push(second)));
  EXPECT_EQ(second.event->event_id, "event-2") << "a refused event is unchanged";
  const std::vector<WaitingEvent> batch = queue.TakeBatch();
  EXPECT_TRUE(absl::IsResourceExhausted(queue.Push(second))) << "the taken event is not stored yet";
  queue.Release(batch);
  EXPECT_EQ(queue.Push(second), absl::OkStatus());
}

TEST(EventQueueTest, TheMemoryOfAnEventIncludesItsHeadersAndBody) {
  const VerifiedEvent small = MakeVerifiedEvent("event", "x");
  const VerifiedEvent large = MakeVerifiedEvent("event", std::string(1001, 'x'));
  EXPECT_EQ(QueuedBytes(*large) - QueuedBytes(*small), 1000);
  Event with_header = *small;
  with_header.headers.push_back({"name", "value"});
  EXPECT_EQ(QueuedBytes(with_header) - QueuedBytes(*small), sizeof(HeaderField) + 9);
}

TEST(CannotStoreTest, OnlyAFullDiskIsResourceExhausted) {
  EXPECT_EQ(CannotStore(absl::ResourceExhaustedError("full")),
            absl::ResourceExhaustedError("the event log cannot store: full"));
  for (const absl::Status& why : {absl::InternalError("why"), absl::FailedPreconditionError("why")}) {
    EXPECT_EQ(CannotStore(why), absl::UnavailableError("the event log cannot store: why"));
  }
}

}  // namespace
}  // namespace stampgate
