#include "webhooks/log/change_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

WaitingChange Waiting(SubscriptionChange change = {}) {
  return {std::move(change), [](const auto&) {}};
}

TEST(ChangeQueueTest, EveryPartOfAChangeUsesMemory) {
  const size_t least = QueuedBytes(Waiting());
  const std::string text(1000, 'x');
  EXPECT_GE(QueuedBytes(Waiting({.subscription = text})), least + 1000);
  EXPECT_GE(QueuedBytes(Waiting({.erase = std::vector<Position>(1000)})), least + 8000);
  EXPECT_GE(QueuedBytes(Waiting({.put = std::vector<SubscriptionRow>(100)})), least + 100 * sizeof(SubscriptionRow));
  EXPECT_GE(QueuedBytes(Waiting({.put = {{.position = 1, .reason = text}}})), least + 1000);
  EXPECT_GE(QueuedBytes(Waiting({.erase_lagging = {text}})), least + 1000);
  EXPECT_GE(QueuedBytes(Waiting({.put_lagging = {{text, 1}}})), least + 1000);
}

TEST(ChangeQueueTest, KeepsTheOrderAndRefusesWhatExceedsItsMemory) {
  ChangeQueue queue(3 * QueuedBytes(Waiting()) + 10);
  for (const char* name : {"a", "b", "c"}) {
    WaitingChange change = Waiting({.subscription = name});
    EXPECT_EQ(queue.Push(change), absl::OkStatus());
  }
  WaitingChange fourth = Waiting({.subscription = "d"});
  EXPECT_EQ(queue.Push(fourth), absl::ResourceExhaustedError("too many changes of subscriptions wait to be stored"));
  EXPECT_EQ(fourth.change.subscription, "d") << "a refused change is unchanged";
  std::string order;
  for (const WaitingChange& waiting : queue.TakeBatch()) absl::StrAppend(&order, waiting.change.subscription);
  EXPECT_EQ(order, "abc");
}

TEST(ChangeQueueTest, ABatchHasALimitedSizeButAtLeastOneChange) {
  ChangeQueue queue(64 << 20);
  for (const size_t bytes : {2 << 20, 400 << 10, 400 << 10, 400 << 10}) {
    WaitingChange change = Waiting({.put = {{.position = 1, .reason = std::string(bytes, 'x')}}});
    ASSERT_EQ(queue.Push(change), absl::OkStatus());
  }
  EXPECT_EQ(queue.TakeBatch().size(), 1);
  EXPECT_EQ(queue.TakeBatch().size(), 2);
  EXPECT_EQ(queue.TakeBatch().size(), 1);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace stampgate
