#include "gateway/subscriptions/served_subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/subscriptions/served_subscription_testing.h"
#include "translate/testing/status.h"
#include "webhooks/log/fake_subscription_store.h"

namespace stampgate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ServedSubscriptionTest, AConsumerGetsTheEventsAndTheStoreTheirSettles) {
  log_.Grow(4);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 4);
  EXPECT_THAT(PositionsOf(batch), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(batch.front().event->organization_id, "odd");
  EXPECT_THAT(*Settle(IdsOf(batch)).Wait(), IsEmpty());
  EXPECT_EQ(store_.states().at("payouts").head.partitions[0].through, 4);
  EXPECT_THAT(store_.states().at("payouts").rows, IsEmpty());
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, AnEventThatWaitsForItsKeyIsReadOnce) {
  constexpr size_t kEvents = 6000;
  log_.Grow(kEvents);
  const auto consumer = Join(100);
  ComingBatch coming = Ask(consumer);
  for (size_t received = 0; received < kEvents;) {
    const auto batch = coming.Wait();
    ASSERT_TRUE(batch.ok()) << batch.status();
    received += batch->size();
    // The consumer has free places, but holds the most events of a key: further ones are read, and wait.
    if (received < kEvents) coming = Ask(consumer);
    EXPECT_THAT(*Settle(IdsOf(*batch)).Wait(), IsEmpty());
  }
  EXPECT_LE(log_.reads(), kEvents / 90) << "each read returns as many events as the consumer has places";
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, TheEventsOfASlowConsumerLeaveRoomForOtherKeys) {
  Stop();
  settings_.limits.settle_within = absl::Hours(1'000'000);
  Start();
  for (Position position = 1; position <= 60; ++position) {
    Event event;
    event.event_id = absl::StrCat("event-", position);
    event.organization_id = position <= 50 ? "slow" : "other";
    event.body = std::string(200'000, ' ');  // the gateway keeps only some of them
    log_.Put(position, std::move(event));
  }
  log_.Grow(60);
  const auto slow = Join(1);
  EXPECT_THAT(PositionsOf(Take(slow, 1)), ElementsAre(1));
  const auto other = Join(100);
  std::vector<Position> received;
  for (const auto end = std::chrono::steady_clock::now() + kHang;
       received.empty() && std::chrono::steady_clock::now() < end;) {
    ComingBatch coming = Ask(other);
    while (!coming.has_come()) Pass(absl::Seconds(1));
    received = PositionsOf(coming.Wait());
  }
  EXPECT_THAT(received, Contains(51));
  subscription_->Leave(slow, true);
  subscription_->Leave(other, true);
}

TEST_F(ServedSubscriptionTest, ANextWaitsForNewEvents) {
  const auto consumer = Join(10);
  ComingBatch batch = Ask(consumer);
  EXPECT_FALSE(batch.has_come());
  log_.Grow(1);
  EXPECT_THAT(PositionsOf(batch.Wait()), ElementsAre(1));
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ANextEndsEmptyAtItsTime) {
  const auto consumer = Join(10);
  ComingBatch batch = Ask(consumer);
  Pass(absl::Seconds(101));
  EXPECT_THAT(PositionsOf(batch.Wait()), IsEmpty());
  batch = Ask(consumer);
  subscription_->CancelNext(consumer);
  EXPECT_EQ(batch.Wait().status().code(), absl::StatusCode::kCancelled);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ConsumersDivideTheKeys) {
  log_.Grow(4);
  const auto first = Join(2);
  const auto second = Join(2);
  ComingBatch of_first = Ask(first);
  ComingBatch of_second = Ask(second);
  std::vector<Position> all = PositionsOf(of_first.Wait());
  for (const Position position : PositionsOf(of_second.Wait())) all.push_back(position);
  EXPECT_THAT(all, SizeIs(::testing::Gt(1u)));
  subscription_->Leave(first, true);
  subscription_->Leave(second, true);
}

TEST_F(ServedSubscriptionTest, ACancelledConsumerGivesItsEventsBackAtOnce) {
  log_.Grow(2);
  const auto first = Join(10);
  const auto batch = Take(first, 2);
  const auto second = Join(10);
  ComingBatch again = Ask(second);
  EXPECT_FALSE(again.has_come());
  subscription_->Leave(first, /*gives_back=*/true);
  EXPECT_THAT(PositionsOf(again.Wait()), ElementsAre(1, 2));
  EXPECT_THAT(*Settle(IdsOf(batch)).Wait(), ElementsAre(0, 1)) << "the tokens of the first consumer are superseded";
  subscription_->Leave(second, true);
}

TEST_F(ServedSubscriptionTest, AConsumerWhoseStreamEndedKeepsItsEventsForAWhile) {
  log_.Grow(2);
  const auto first = Join(10);
  const auto batch = Take(first, 2);
  subscription_->Leave(first, /*gives_back=*/false);
  const auto second = Join(10);
  ComingBatch again = Ask(second);
  Pass(absl::Seconds(29));
  EXPECT_FALSE(again.has_come());
  EXPECT_THAT(*Settle({batch.front().id}).Wait(), IsEmpty());
  Pass(absl::Seconds(2));
  EXPECT_THAT(PositionsOf(again.Wait()), ElementsAre(2));
  EXPECT_EQ(reasons_.back(), DeliveryReason::kTimeout);
  subscription_->Leave(second, true);
}

TEST_F(ServedSubscriptionTest, AConsumerResumesWithTheTokensThatItHolds) {
  log_.Grow(2);
  const auto first = Join(10);
  const auto batch = Take(first, 2);
  subscription_->Leave(first, /*gives_back=*/false);
  Pass(absl::Seconds(20));
  DeliveryId unknown = batch.front().id;
  unknown.number = 7;
  const auto second = Join(10, {batch.front().id, unknown, batch.back().id});
  EXPECT_THAT(superseded_, ElementsAre(1));
  Pass(absl::Seconds(20));
  EXPECT_THAT(*Settle(IdsOf(batch)).Wait(), IsEmpty()) << "their time began again";
  subscription_->Leave(second, true);
}

TEST_F(ServedSubscriptionTest, ASecondDeliveryIsStoredBeforeItIsSent) {
  log_.Grow(1);
  const auto consumer = Join(10);
  const auto batch = Next(consumer);
  store_.Hold();
  EXPECT_THAT(*Settle(IdsOf(*batch), SettleOutcome::kRetry).Wait(), IsEmpty()) << "RETRY itself stores nothing";
  ComingBatch again = Ask(consumer);
  EXPECT_FALSE(again.has_come());
  ASSERT_THAT(store_.waiting(), SizeIs(1));
  EXPECT_EQ(store_.waiting().front().put.front().deliveries, 2);
  store_.Answer();
  EXPECT_EQ(again.Wait()->front().id.number, 2);
  store_.AnswerAtOnce();
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ASettleIsAnsweredOnlyWhenItIsStored) {
  log_.Grow(1);
  const auto consumer = Join(10);
  const auto batch = Next(consumer);
  store_.Hold();
  ComingResult result = Settle(IdsOf(*batch));
  EXPECT_FALSE(result.has_come());
  store_.Answer(absl::ResourceExhaustedError("the disk is full"));
  EXPECT_EQ(result.Wait().status().code(), absl::StatusCode::kUnavailable);
  result = Settle(IdsOf(*batch));
  EXPECT_FALSE(result.has_come()) << "the event is done, and the store does not have this";
  Pass(absl::Seconds(2));
  store_.AnswerAll();
  EXPECT_THAT(*result.Wait(), IsEmpty());
  EXPECT_EQ(store_.states().at("payouts").head.partitions[0].through, 1);
  store_.AnswerAtOnce();
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, AnEventIsParkedAfterItsLastDelivery) {
  log_.Grow(3);
  const auto consumer = Join(10);
  for (int64_t number = 1; number <= 3; ++number) {
    const auto batch = Next(consumer);
    ASSERT_TRUE(batch.ok());
    for (const auto& sent : *batch) {
      if (sent.id.position != 1) {
        EXPECT_TRUE(Settle({sent.id}).Wait().ok());
        continue;
      }
      EXPECT_EQ(sent.id.number, number);
      EXPECT_TRUE(Settle({sent.id}, SettleOutcome::kRetry).Wait().ok());
    }
  }
  EXPECT_THAT(parked_, ElementsAre(::testing::Pair(1, HasSubstr("max_deliveries"))));
  ASSERT_THAT(*subscription_->Parked(0, 10), SizeIs(1));
  ComingResult retried;
  subscription_->ChangeParked({1, 2}, ParkedChange::kRetry, retried.callback());
  EXPECT_THAT(*retried.Wait(), ElementsAre(1)) << "event 2 is not parked";
  bool is_sent = false;
  while (!is_sent || subscription_->state().all.through < 3) {
    const auto batch = Next(consumer);
    ASSERT_TRUE(batch.ok());
    for (const auto& sent : *batch) {
      EXPECT_EQ(sent.out_of_order, sent.id.position == 1);
      is_sent = is_sent || sent.out_of_order;
      EXPECT_TRUE(Settle({sent.id}).Wait().ok());
    }
  }
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, AnEventThatCannotBeParkedIsAnErrorAndTheOthersAreSettled) {
  settings_.limits.max_parked = 1;
  subscription_->Use(settings_);
  log_.Grow(2);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 2);
  const absl::Status status = Settle(IdsOf(batch), SettleOutcome::kPark).Wait().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(testing::DetailsOf(status).reason, "TOO_MANY_PARKED");
  EXPECT_THAT(*subscription_->Parked(0, 10), SizeIs(1));
  EXPECT_EQ(subscription_->state().all.held, 1);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ReadsEventsThatAreLargerThanWhatItKeeps) {
  settings_.max_kept_bytes = 1;
  settings_.limits.settle_within = absl::Hours(1'000'000);  // the test's clock runs fast
  subscription_->Use(settings_);
  log_.Grow(100);
  const auto consumer = Join(200);
  for (size_t taken = 0; taken < 100;) {
    ComingBatch next = Ask(consumer);
    while (!next.has_come()) Pass(absl::Seconds(1));
    const auto batch = next.Wait();
    ASSERT_TRUE(batch.ok()) << batch.status();
    taken += batch->size();
    EXPECT_TRUE(Settle(IdsOf(*batch)).Wait().ok());
  }
  EXPECT_EQ(subscription_->state().all.through, 100);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, NoEventIsParkedBecauseTheStoreDoesNotAnswer) {
  log_.Grow(1);
  const auto consumer = Join(10);
  EXPECT_TRUE(Settle(IdsOf(*Next(consumer)), SettleOutcome::kRetry).Wait().ok());
  store_.AnswerAtOnce(absl::UnavailableError("the disk is full"));
  ComingBatch again = Ask(consumer);
  for (int i = 0; i < 3; ++i) Pass(kSettleWithin + absl::Seconds(1));
  EXPECT_FALSE(again.has_come());
  EXPECT_THAT(parked_, IsEmpty());
  store_.AnswerAtOnce();
  Pass(absl::Seconds(1));
  EXPECT_EQ(WaitAndTick(again)->front().count, 2);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ADeliveryThatWasNotSentDoesNotCount) {
  settings_.limits.max_deliveries = 1;
  subscription_->Use(settings_);
  log_.Grow(1);
  store_.Hold();
  const auto first = Join(10);
  Ask(first);  // the event is assigned, and waits until the store has reserved its position
  const auto second = Join(10);
  ComingBatch batch = Ask(second);
  while (store_.waiting().empty()) std::this_thread::yield();
  subscription_->CancelNext(first);
  subscription_->Leave(first, /*gives_back=*/true);
  store_.AnswerAtOnce();
  const auto sent = batch.Wait();
  ASSERT_THAT(PositionsOf(sent), ElementsAre(1)) << "with one delivery at most, it would be parked otherwise";
  EXPECT_EQ(sent->front().id.number, 1);
  subscription_->Leave(second, true);
}

TEST_F(ServedSubscriptionTest, AfterARestartItsConsumersStillHoldTheirEvents) {
  log_.Grow(4);
  const auto batch = Take(Join(10), 4);
  Stop();
  log_.Grow(6);
  Start();
  EXPECT_THAT(*Settle({batch.front().id}).Wait(), IsEmpty());
  const auto consumer = Join(10);
  ComingBatch next = Ask(consumer);
  Pass(absl::Seconds(29));
  EXPECT_FALSE(next.has_come()) << "the events after those that were sent have the same keys";
  Pass(absl::Seconds(2));
  const auto again = next.Wait();
  ASSERT_TRUE(again.ok());
  EXPECT_THAT(PositionsOf(again), ::testing::Contains(2));
  EXPECT_EQ(again->front().reason, DeliveryReason::kGatewayRestarted);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, AfterACleanRestartOtherEventsDoNotWait) {
  log_.Grow(1);
  const auto batch = Next(Join(10));
  Stop();
  log_.Grow(2);
  Start();
  const auto consumer = Join(10);
  EXPECT_THAT(PositionsOf(Next(consumer)), ElementsAre(2)) << "event 2 has another key, and was never sent";
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ASeekBackSendsEventsAgain) {
  log_.Grow(2);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 2);
  EXPECT_TRUE(Settle(IdsOf(batch)).Wait().ok());
  Coming<absl::Status> sought;
  subscription_->Seek(0, sought.callback());
  EXPECT_TRUE(sought.Wait().ok());
  EXPECT_THAT(*Settle(IdsOf(batch)).Wait(), ElementsAre(0, 1)) << "earlier tokens are invalid";
  const auto again = Take(consumer, 2);
  EXPECT_THAT(PositionsOf(again), ElementsAre(1, 2));
  EXPECT_EQ(again.front().reason, DeliveryReason::kSeek);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, AReloadChangesTheFilterOfLaterReads) {
  log_.Grow(2);
  const auto consumer = Join(100);
  Take(consumer, 2);
  settings_.filter = std::make_shared<EventFilter>(EventFilter{.types = {"even"}});
  settings_.limits.max_unsettled_per_key = 10;
  subscription_->Use(settings_);
  ComingBatch next = Ask(consumer);
  log_.Grow(6);
  const auto batch = next.Wait();
  ASSERT_TRUE(batch.ok());
  for (const auto& sent : *batch) EXPECT_EQ(sent.event->type, "even");
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, EveryNextEndsWithTheSubscription) {
  const auto consumer = Join(10);
  ComingBatch next = Ask(consumer);
  subscription_->End(absl::AbortedError("the gateway drains"));
  EXPECT_EQ(next.Wait().status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Next(consumer).status().code(), absl::StatusCode::kAborted);
  subscription_->Leave(consumer, false);
}

}  // namespace
}  // namespace stampgate
