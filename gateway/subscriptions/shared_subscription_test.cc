#include "gateway/subscriptions/shared_subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "webhooks/log/partition.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using ReadEvent = SharedSubscription::ReadEvent;
using Delivery = SharedSubscription::Delivery;

const absl::Time kStart = absl::FromUnixSeconds(1000);

SharedSubscription::Options Options() {
  return {.settle_within = absl::Seconds(30),
          .max_deliveries = 3,
          .max_unsettled_per_key = 2,
          .max_window = 6,
          .max_lagging_keys = 2,
          .min_reserve_step = 100,
          .max_reserve_step = 100};
}

std::vector<Position> PositionsOf(const std::vector<Delivery>& deliveries) {
  std::vector<Position> positions;
  for (const Delivery& delivery : deliveries) positions.push_back(delivery.position);
  return positions;
}

std::map<size_t, absl::Time> AllPartitions(absl::Time held_until) {
  std::map<size_t, absl::Time> all;
  for (size_t partition = 0; partition < kPartitions; ++partition) all[partition] = held_until;
  return all;
}

class SharedSubscriptionTest : public ::testing::Test {
 protected:
  SharedSubscriptionTest() { subscription_.AddPartitions(AllPartitions(kStart), {}, 0, kStart); }

  // Reads events with these keys, at the positions 1, 2, ...
  void Read(const std::vector<std::string>& keys) {
    std::vector<ReadEvent> events;
    for (const std::string& key : keys) events.push_back({.position = ++latest_, .key = key});
    subscription_.OnRead(subscription_.read(), events, latest_, now_);
  }

  std::vector<Delivery> AssignUnsent(SharedSubscription::ConsumerId consumer) {
    subscription_.SetReceiving(consumer, true);
    return subscription_.Assign(now_, 100);
  }

  // Also sends them.
  std::vector<Delivery> Assign(SharedSubscription::ConsumerId consumer) {
    const std::vector<Delivery> deliveries = AssignUnsent(consumer);
    for (const Delivery& delivery : deliveries) subscription_.OnSent(delivery.position, now_);
    return deliveries;
  }

  SettleResult Settle(const Delivery& delivery, SettleOutcome outcome = SettleOutcome::kDone,
                      absl::Duration delay = absl::ZeroDuration()) {
    return subscription_.Settle(delivery.partition, delivery.position, delivery.number, outcome, delay, "broken", now_)
        .result;
  }

  void Pass(absl::Duration time) {
    now_ += time;
    subscription_.Tick(now_);
  }

  void Write() {
    while (subscription_.changes().CanTake()) {
      subscription_.changes().Take("s");
      subscription_.changes().Finish(true);
    }
  }

  absl::Time now_ = kStart;
  Position latest_ = 0;
  SharedSubscription subscription_{Options()};
};

TEST_F(SharedSubscriptionTest, OneConsumerAtATimeHoldsEventsOfAKeyAndNotTooMany) {
  const auto first = subscription_.AddConsumer(10);
  const auto second = subscription_.AddConsumer(10);
  Read({"a", "a", "a", "b"});
  EXPECT_THAT(PositionsOf(Assign(first)), ElementsAre(1, 2, 4));
  EXPECT_THAT(Assign(second), IsEmpty());
}

TEST_F(SharedSubscriptionTest, EventsWithoutAKeyHaveNoOrder) {
  const auto first = subscription_.AddConsumer(2);
  const auto second = subscription_.AddConsumer(2);
  Read({"", "", "", ""});
  EXPECT_THAT(PositionsOf(Assign(first)), ElementsAre(1, 2));
  EXPECT_THAT(PositionsOf(Assign(second)), ElementsAre(3, 4));
}

TEST_F(SharedSubscriptionTest, AConsumerThatResumesAllEventsOfAKeyGetsTheNextOne) {
  const auto before = subscription_.AddConsumer(10);
  Read({"a", "a", "a"});
  const auto sent = Assign(before);
  ASSERT_THAT(PositionsOf(sent), ElementsAre(1, 2));
  subscription_.RemoveConsumer(before, /*gives_back=*/false, now_);
  const auto consumer = subscription_.AddConsumer(10);
  for (const Delivery& delivery : sent) {
    EXPECT_EQ(subscription_.Resume(consumer, delivery.partition, delivery.position, delivery.number, now_),
              SettleResult::kSettled);
  }
  EXPECT_EQ(Settle(sent[0]), SettleResult::kSettled);
  EXPECT_THAT(PositionsOf(Assign(consumer)), ElementsAre(3));
}

TEST_F(SharedSubscriptionTest, AConsumerGetsNoEventBeforeOneOfItsKeyThatWasLostOnItsWay) {
  const auto before = subscription_.AddConsumer(10);
  Read({"a", "a", "a"});
  const auto sent = Assign(before);
  ASSERT_THAT(PositionsOf(sent), ElementsAre(1, 2));
  subscription_.RemoveConsumer(before, /*gives_back=*/false, now_);
  const auto consumer = subscription_.AddConsumer(10);
  EXPECT_EQ(subscription_.Resume(consumer, sent[0].partition, 1, 1, now_), SettleResult::kSettled);
  EXPECT_EQ(Settle(sent[0]), SettleResult::kSettled);
  EXPECT_THAT(Assign(consumer), IsEmpty()) << "the consumer may not have got event 2";
  Pass(absl::Seconds(30));
  const auto again = Assign(consumer);
  ASSERT_THAT(PositionsOf(again), ElementsAre(2));
  EXPECT_EQ(again[0].reason, DeliveryReason::kTimeout);
  EXPECT_EQ(Settle(again[0]), SettleResult::kSettled);
  EXPECT_THAT(PositionsOf(Assign(consumer)), ElementsAre(3));
}

TEST_F(SharedSubscriptionTest, AnEventThatIsSentAgainIsSentAloneAndBeforeTheNextOnes) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a", "a", "a"});
  const auto sent = Assign(consumer);
  ASSERT_THAT(PositionsOf(sent), ElementsAre(1, 2));
  EXPECT_EQ(Settle(sent[0], SettleOutcome::kRetry), SettleResult::kSettled);
  EXPECT_EQ(Settle(sent[1]), SettleResult::kSuperseded) << "event 2 comes again, after event 1";
  auto again = Assign(consumer);
  ASSERT_THAT(PositionsOf(again), ElementsAre(1));
  EXPECT_EQ(again[0].number, 2);
  EXPECT_EQ(again[0].reason, DeliveryReason::kRetry);
  EXPECT_EQ(Settle(again[0]), SettleResult::kSettled);
  again = Assign(consumer);
  ASSERT_THAT(PositionsOf(again), ElementsAre(2));
  EXPECT_EQ(again[0].reason, DeliveryReason::kAfterAnother);
}

TEST_F(SharedSubscriptionTest, ARetryCanBeDelayed) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a", "b"});
  const auto sent = Assign(consumer);
  EXPECT_EQ(Settle(sent[0], SettleOutcome::kRetry, absl::Seconds(5)), SettleResult::kSettled);
  EXPECT_EQ(subscription_.NextTick(), kStart + absl::Seconds(5));
  Pass(absl::Seconds(4));
  EXPECT_THAT(Assign(consumer), IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(PositionsOf(subscription_.Assign(now_, 100)), ElementsAre(1));
}

TEST_F(SharedSubscriptionTest, ASettleTwiceIsHarmless) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a", "b"});
  const auto sent = Assign(consumer);
  EXPECT_EQ(Settle(sent[1]), SettleResult::kSettled);
  EXPECT_EQ(Settle(sent[1]), SettleResult::kAlreadySettled);
  EXPECT_EQ(Settle(sent[1], SettleOutcome::kRetry), SettleResult::kSuperseded);
  EXPECT_EQ(Settle(sent[0], SettleOutcome::kPark), SettleResult::kSettled);
  EXPECT_EQ(Settle(sent[0], SettleOutcome::kPark), SettleResult::kAlreadySettled);
  EXPECT_EQ(Settle(sent[0]), SettleResult::kSuperseded) << "a parked event is not done";
}

TEST_F(SharedSubscriptionTest, AnExtensionBeginsTheTimeAgain) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a"});
  const auto sent = Assign(consumer);
  Pass(absl::Seconds(29));
  EXPECT_EQ(Settle(sent[0], SettleOutcome::kExtend), SettleResult::kSettled);
  Pass(absl::Seconds(29));
  EXPECT_TRUE(subscription_.IsCurrent(1, 1));
  Pass(absl::Seconds(1));
  EXPECT_FALSE(subscription_.IsCurrent(1, 1));
}

TEST_F(SharedSubscriptionTest, WhatIsSettledInOrderWritesOnlyTheProgress) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a", "b"});
  const auto sent = Assign(consumer);
  Write();
  EXPECT_EQ(Settle(sent[0]), SettleResult::kSettled);
  const SubscriptionChange change = subscription_.changes().Take("s");
  EXPECT_EQ(change.progress.at(sent[1].partition).through, 1);
  EXPECT_THAT(change.put, IsEmpty());
  EXPECT_THAT(change.erase, IsEmpty());
}

// A write, or another event of the same message, can take long.
TEST_F(SharedSubscriptionTest, TheTimeOfAConsumerBeginsWhenTheEventIsSent) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a", "b"});
  const auto sent = AssignUnsent(consumer);
  ASSERT_THAT(sent, SizeIs(2));
  Pass(absl::Seconds(29));
  subscription_.OnSent(sent[0].position, now_);
  Pass(absl::Seconds(29));
  EXPECT_EQ(Settle(sent[0]), SettleResult::kSettled);
  EXPECT_EQ(Settle(sent[1]), SettleResult::kSuperseded);
}

// When the store does not answer for long, events wait for it, and nobody has failed to handle them.
TEST_F(SharedSubscriptionTest, ADeliveryThatIsNeverSentDoesNotCount) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a"});
  for (int64_t number = 1; number <= 10; ++number) {
    const auto unsent = AssignUnsent(consumer);
    ASSERT_THAT(unsent, SizeIs(1));
    EXPECT_EQ(unsent[0].number, number);
    EXPECT_EQ(unsent[0].count, 1);
    EXPECT_EQ(unsent[0].reason, DeliveryReason::kFirst);
    Pass(absl::Seconds(31));
  }
  SharedSubscription restarted(Options());
  restarted.AddPartitions(AllPartitions(now_), {.rows = subscription_.changes().Take("s").put}, 1, now_);
  restarted.OnRead(0, {{.position = 1, .key = "a"}}, 1, now_);
  restarted.SetReceiving(restarted.AddConsumer(1), true);
  const auto again = restarted.Assign(now_, 1);
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_EQ(again[0].number, 11);
  EXPECT_EQ(again[0].count, 1) << "the next gateway knows it, too";
  EXPECT_EQ(again[0].reason, DeliveryReason::kFirst);
}

TEST_F(SharedSubscriptionTest, ADeliveryThatIsTakenBackOrSoughtAwayDoesNotCount) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a"});
  EXPECT_EQ(Settle(Assign(consumer)[0], SettleOutcome::kPark), SettleResult::kSettled);
  EXPECT_TRUE(subscription_.RetryParked(1, now_));
  ASSERT_THAT(AssignUnsent(consumer), SizeIs(1));
  subscription_.Seek(1);
  EXPECT_EQ(subscription_.changes().Take("s").put.back().uncounted, 2) << "the next gateway must know it, too";
  subscription_.changes().Finish(true);
  const auto unsent = AssignUnsent(consumer);
  ASSERT_THAT(unsent, SizeIs(1));
  EXPECT_EQ(unsent[0].number, 3);
  EXPECT_EQ(unsent[0].count, 1);
  subscription_.GiveBack(1, 3, now_);
  const SubscriptionRow row = subscription_.changes().Take("s").put.back();
  EXPECT_EQ(row.deliveries, 2) << "the next gateway must not count what was taken back";
  EXPECT_EQ(row.uncounted, 2);
}

TEST_F(SharedSubscriptionTest, ADeliveryThatIsNotSentDoesNotCountWhenAnEarlierEventIsSentAgain) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a", "a"});
  const auto sent = AssignUnsent(consumer);
  ASSERT_THAT(sent, SizeIs(2));
  subscription_.OnSent(1, now_);
  EXPECT_EQ(Settle(sent[0], SettleOutcome::kRetry), SettleResult::kSettled);
  EXPECT_EQ(Settle(Assign(consumer)[0]), SettleResult::kSettled);
  const auto second = Assign(consumer);
  ASSERT_THAT(PositionsOf(second), ElementsAre(2));
  EXPECT_EQ(second[0].count, 1);
  EXPECT_EQ(second[0].reason, DeliveryReason::kFirst);
}

// What is reserved and not sent waits in vain for its consumers when the gateway is gone; see Partition::unknown_until.
TEST_F(SharedSubscriptionTest, ReservesAheadWhatItSendsInAboutASecond) {
  SharedSubscription::Options options = Options();
  options.max_window = 1'000'000;
  options.settle_within = absl::Hours(24);
  options.min_reserve_step = 64;
  options.max_reserve_step = 4096;
  subscription_.SetOptions(options);
  const auto consumer = subscription_.AddConsumer(1'000'000);
  struct Rate {
    absl::Duration interval;  // between events
    int events;
    Position max_ahead;
    int max_writes;
  };
  for (const Rate& rate :
       {Rate{absl::Milliseconds(100), 600, 64, 20}, Rate{absl::Milliseconds(1), 20'000, 4000, 50},
        Rate{absl::Microseconds(10), 100'000, 4096, 60}, Rate{absl::Milliseconds(100), 5'000, 64, 200}}) {
    SCOPED_TRACE(rate.interval);
    int writes = 0;
    Position reserved = 0;
    for (int i = 0; i < rate.events; ++i) {
      Pass(rate.interval);
      Read({""});
      ASSERT_THAT(Assign(consumer), SizeIs(1));
      if (!subscription_.changes().CanTake()) continue;
      ++writes;
      for (const auto& [partition, progress] : subscription_.changes().Take("s").progress) {
        reserved = std::max(reserved, progress.reserved);
      }
      subscription_.changes().Finish(true);
    }
    EXPECT_GE(reserved, latest_);
    EXPECT_LE(reserved - latest_, rate.max_ahead);
    EXPECT_LE(writes, rate.max_writes);
  }
}

TEST_F(SharedSubscriptionTest, NothingIsReservedOfAPartitionThatIsGivenUp) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a"});
  const auto sent = Assign(consumer);
  Write();
  subscription_.StopSending(sent[0].partition);
  EXPECT_EQ(subscription_.changes().Take("s").progress.at(sent[0].partition).reserved, 1);
  subscription_.changes().Finish(true);
  for (int i = 0; i < 100; ++i) Read({"a", "b"});
  const auto later = Assign(consumer);
  ASSERT_THAT(later, SizeIs(2)) << "of b";
  EXPECT_FALSE(subscription_.IsIdle(sent[0].partition, now_));
  for (const Delivery& delivery : later) EXPECT_EQ(Settle(delivery), SettleResult::kSettled);
  EXPECT_FALSE(subscription_.changes().Take("s").progress.contains(sent[0].partition));
  EXPECT_EQ(Settle(sent[0]), SettleResult::kSettled);
  EXPECT_TRUE(subscription_.IsIdle(sent[0].partition, now_));
  subscription_.RemovePartition(sent[0].partition);
  EXPECT_EQ(Settle(sent[0]), SettleResult::kNotHeld);
}

TEST_F(SharedSubscriptionTest, APartitionThatIsGivenUpFillsNoWindow) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"slow"});
  const auto held = Assign(consumer);
  ASSERT_THAT(held, SizeIs(1));
  subscription_.StopSending(held[0].partition);
  subscription_.SetReceiving(consumer, true);
  for (int i = 0; i < 10; ++i) {
    Read({"al", "ar"});  // of the same partition
    ASSERT_GT(subscription_.WantsEvents(100), 0u) << i;
  }
  EXPECT_EQ(subscription_.stats().lagging_keys, 0u);
}

TEST_F(SharedSubscriptionTest, AKeyThatIsReadToTheEndWantsNoRead) {
  SharedSubscription subscription(Options());
  SubscriptionState state;
  state.head = HeadAt(5);
  state.lagging["=k"] = 5;
  subscription.AddPartitions(AllPartitions(kStart), state, 20, kStart);
  EXPECT_EQ(subscription.WantsLagging(), std::nullopt);
}

// The keys have one partition.
TEST_F(SharedSubscriptionTest, AKeyThatBlocksAFullWindowLags) {
  ASSERT_EQ(PartitionOf("=slow"), PartitionOf("=al"));
  ASSERT_EQ(PartitionOf("=slow"), PartitionOf("=ar"));
  const auto blocked = subscription_.AddConsumer(1);
  Read({"slow", "slow", "slow", "slow"});
  const auto held = Assign(blocked);
  ASSERT_THAT(PositionsOf(held), ElementsAre(1));
  const auto consumer = subscription_.AddConsumer(10);
  Read({"al", "ar"});
  for (const Delivery& delivery : Assign(consumer)) EXPECT_EQ(Settle(delivery), SettleResult::kSettled);
  subscription_.SetReceiving(consumer, true);
  EXPECT_EQ(subscription_.stats().through, 0);
  EXPECT_EQ(subscription_.WantsEvents(100), 10);
  EXPECT_EQ(subscription_.stats().lagging_keys, 1);
  EXPECT_EQ(subscription_.stats().through, 6) << "the window passes the key";
  EXPECT_EQ(Settle(held[0]), SettleResult::kSettled);
  std::vector<Position> order;
  while (subscription_.stats().unsettled > 0) {
    const auto next = Assign(blocked);
    ASSERT_THAT(next, Not(IsEmpty()));
    for (const Delivery& delivery : next) {
      order.push_back(delivery.position);
      EXPECT_EQ(Settle(delivery), SettleResult::kSettled);
    }
  }
  EXPECT_THAT(order, ElementsAre(2, 3, 4));
  EXPECT_EQ(subscription_.stats().lagging_keys, 0);
}

TEST_F(SharedSubscriptionTest, EventsOfALaggingKeyThatAreLeftOutAreReadAgain) {
  const auto blocked = subscription_.AddConsumer(1);
  Read({"slow", "slow", "slow", "slow", "slow", "slow"});
  const auto held = Assign(blocked);
  const auto consumer = subscription_.AddConsumer(10);
  subscription_.SetReceiving(consumer, true);
  EXPECT_EQ(subscription_.WantsEvents(100), 10);
  EXPECT_EQ(subscription_.stats().unsettled, 4) << "twice as many as a consumer may hold";
  EXPECT_EQ(subscription_.WantsLagging(), std::nullopt);
  EXPECT_EQ(Settle(held[0]), SettleResult::kSettled);
  for (const Delivery& delivery : Assign(blocked)) EXPECT_EQ(Settle(delivery), SettleResult::kSettled);
  ASSERT_EQ(subscription_.WantsLagging(), 4);
  subscription_.OnLaggingRead(4, {{.position = 5, .key = "slow"}, {.position = 6, .key = "slow"}}, 6, now_);
  EXPECT_EQ(subscription_.stats().unsettled, 3);
}

TEST_F(SharedSubscriptionTest, WithoutConsumersOnlyTheOldestEventIsRead) {
  EXPECT_EQ(subscription_.WantsEvents(0), 0);
  EXPECT_EQ(subscription_.WantsEvents(9), 1);
  subscription_.OnRead(0, {{.position = 3, .key = "a", .stored = kStart}}, 3, now_);
  EXPECT_EQ(subscription_.WantsEvents(9), 0);
  EXPECT_EQ(subscription_.stats().oldest, kStart);
}

TEST_F(SharedSubscriptionTest, ARetriedEventIsCountedAgainAndParkedAgain) {
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a"});
  EXPECT_EQ(Settle(Assign(consumer)[0], SettleOutcome::kPark), SettleResult::kSettled);
  EXPECT_TRUE(subscription_.RetryParked(1, now_));
  for (int count = 1; count <= 3; ++count) {
    const auto sent = Assign(consumer);
    ASSERT_THAT(sent, SizeIs(1));
    EXPECT_TRUE(sent[0].out_of_order);
    EXPECT_EQ(sent[0].count, count);
    EXPECT_EQ(sent[0].number, 1 + count) << "a token of an earlier delivery must not become valid again";
    EXPECT_EQ(Settle(sent[0], SettleOutcome::kRetry), SettleResult::kSettled);
  }
  ASSERT_TRUE(subscription_.parked().contains(1));
  EXPECT_EQ(subscription_.parked().at(1).reason, "max_deliveries: it was delivered 3 times");
  EXPECT_EQ(subscription_.parked().at(1).deliveries, 4);
}

TEST_F(SharedSubscriptionTest, ARetriedEventIsAsOldAsItsReturn) {
  const auto consumer = subscription_.AddConsumer(10);
  subscription_.OnRead(0, {{.position = 1, .key = "a", .stored = kStart}}, 1, now_);
  EXPECT_EQ(Settle(Assign(consumer)[0], SettleOutcome::kPark), SettleResult::kSettled);
  EXPECT_EQ(subscription_.stats().oldest, std::nullopt);
  Pass(absl::Hours(2));
  EXPECT_TRUE(subscription_.RetryParked(1, now_));
  const absl::Time returned = now_;
  EXPECT_EQ(subscription_.stats().oldest, returned);
  Pass(absl::Hours(1));
  subscription_.OnRead(1, {{.position = 2, .key = "a", .stored = now_}}, 2, now_);
  EXPECT_EQ(subscription_.stats().oldest, returned);
  SharedSubscription restarted(Options());
  restarted.AddPartitions(AllPartitions(now_ + Options().settle_within),
                          {.rows = subscription_.changes().Take("s").put}, 2, now_);
  EXPECT_EQ(restarted.stats().oldest, returned);
  for (const Delivery& delivery : Assign(consumer)) EXPECT_EQ(Settle(delivery), SettleResult::kSettled);
  EXPECT_EQ(subscription_.stats().oldest, std::nullopt);
}

TEST_F(SharedSubscriptionTest, WithoutRoomForParkedEventsAnEventIsSentAgain) {
  SharedSubscription::Options options = Options();
  options.max_parked = 1;
  options.max_deliveries = 1;
  subscription_.SetOptions(options);
  const auto consumer = subscription_.AddConsumer(10);
  Read({"a", "b"});
  const auto sent = Assign(consumer);
  EXPECT_EQ(Settle(sent[0], SettleOutcome::kPark), SettleResult::kSettled);
  EXPECT_EQ(Settle(sent[1], SettleOutcome::kPark), SettleResult::kTooManyParked);
  EXPECT_TRUE(subscription_.IsCurrent(2, 1));
  EXPECT_EQ(Settle(sent[1], SettleOutcome::kRetry), SettleResult::kSettled);
  const auto again = Assign(consumer);
  ASSERT_THAT(PositionsOf(again), ElementsAre(2));
  EXPECT_EQ(again[0].number, 2);
  EXPECT_TRUE(subscription_.SkipParked(1));
  EXPECT_EQ(Settle(again[0], SettleOutcome::kRetry), SettleResult::kSettled);
  EXPECT_TRUE(subscription_.parked().contains(2));
}

}  // namespace
}  // namespace stampgate
