// Tests subscriptions whose partitions several gateways share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/subscriptions/served_subscription_testing.h"
#include "webhooks/log/fake_subscription_store.h"
#include "webhooks/log/partition.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ServedSubscriptionTest, EventsOfPartitionsThatAnotherGatewayHoldsAreItsOwn) {
  subscription_->OnHold(HoldOf(2, {kOdd}));
  log_.Grow(6);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 2);
  EXPECT_THAT(PositionsOf(batch), ElementsAre(1, 3));
  EXPECT_EQ(Settle({{.partition = kEven, .position = 2, .number = 1, .incarnation = 1}}).Wait().status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_THAT(*Settle(IdsOf(batch)).Wait(), IsEmpty());
  EXPECT_THAT(PositionsOf(Take(consumer, 1)), ElementsAre(5));
  subscription_->OnHold(HoldOf(2, {kOdd, kEven}));
  EXPECT_THAT(PositionsOf(Take(consumer, 2)), ElementsAre(2, 4)) << "the log is read again for what was added";
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, APartitionThatIsAddedIsReadAlsoWhileAReadWaits) {
  subscription_->OnHold(HoldOf(2, {kOdd}));
  log_.Grow(2);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 1);
  ComingBatch coming = Ask(consumer);
  Hold hold = HoldOf(2, {kOdd, kEven});
  hold.state.head.partitions[kEven].reserved = 100;
  subscription_->OnHold(hold);
  ComingResult settled = Settle(IdsOf(batch));
  EXPECT_THAT(PositionsOf(WaitAndTick(coming)), ElementsAre(2));
  EXPECT_THAT(*WaitAndTick(settled), IsEmpty());
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, WithoutPartitionsNothingIsLost) {
  subscription_->OnHold(HoldOf(2, {}));
  log_.Grow(10);
  const auto consumer = Join(10);
  ComingBatch coming = Ask(consumer);
  subscription_->OnTrimmed({.earliest = 5, .latest = 10});
  EXPECT_FALSE(coming.has_come());
  EXPECT_EQ(lost_count_, 0);
  EXPECT_EQ(near_retention_, 0);
  subscription_->Leave(consumer, true);
}

// Another gateway can have sent the event meanwhile, with the same number.
TEST_F(ServedSubscriptionTest, AnUnsentDeliveryEndsWithItsHold) {
  store_.Hold();
  log_.Grow(1);
  const auto consumer = Join(10);
  ComingBatch first = Ask(consumer);
  while (store_.waiting().empty()) subscription_->Tick();
  subscription_->CancelNext(consumer);
  subscription_->OnHold(HoldOf(2, {}));
  store_.AnswerAll(absl::AbortedError("the hold has ended"));
  Hold hold = HoldOf(3, {kOdd});
  hold.state.head.partitions[kOdd].reserved = 100;
  hold.added[kOdd] = kSettleWithin;
  subscription_->OnHold(hold);
  store_.AnswerAtOnce();
  Pass(absl::Seconds(2));
  while (subscription_->state().all.held == 0) subscription_->Tick();
  ComingBatch coming = Ask(consumer);
  EXPECT_FALSE(coming.has_come()) << "a consumer of the other gateway holds it";
  Pass(kSettleWithin);
  const auto batch = WaitAndTick(coming);
  ASSERT_THAT(PositionsOf(batch), ElementsAre(1));
  EXPECT_EQ(batch->front().id.number, 2);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, AnIdlePartitionIsGivenBackWhileOthersAreWritten) {
  settings_.limits.max_unsettled_per_key = 20;
  subscription_->Use(settings_);
  log_.Grow(20);
  const auto consumer = Join(20);
  const auto batch = Take(consumer, 20);
  Hold hold = HoldOf(1, AllPartitions());
  hold.excess = 1;
  subscription_->OnHold(hold);
  store_.Hold();
  std::vector<ComingResult> results;
  size_t given = 0;
  for (const DeliveryId& id : IdsOf(batch)) {
    results.push_back(Settle({id}));
    given += subscription_->Renew().given.size();
    store_.Answer();  // the next write begins at once
  }
  EXPECT_EQ(given, 1u);
  store_.AnswerAtOnce();
  subscription_->Leave(consumer, true);
}

// A gateway that was paused does not know the later deliveries of the gateway that has the partition now.
TEST_F(ServedSubscriptionTest, WithPeersARefusalOrAnExtensionWaitsForTheStoreToConfirmTheHold) {
  log_.Grow(2);
  ServedSubscription::Options options = OptionsOf();
  options.peers.emplace();
  const auto paused = std::make_shared<ServedSubscription>(std::move(options));
  paused->Start();
  paused->Renew();
  paused->OnHold(SoleHold({}, absl::ZeroDuration()));
  const auto consumer = paused->Join(10, {}, &superseded_);
  ComingBatch coming;
  paused->Next(consumer, absl::InfiniteFuture(), coming.callback());
  const DeliveryId current = coming.Wait()->front().id;
  store_.Hold();
  const DeliveryId later = {.partition = kEven, .position = 2, .number = 7, .incarnation = 1};
  const DeliveryId after_seek = {.partition = kEven, .position = 2, .number = 1, .incarnation = 5};
  for (const DeliveryId& id : {later, after_seek, current}) {
    const bool extends = id.position == current.position;
    for (const bool has_hold : {false, true}) {
      ComingResult result;
      paused->Settle({id}, extends ? SettleOutcome::kExtend : SettleOutcome::kDone, absl::ZeroDuration(), "",
                     result.callback());
      while (store_.waiting().empty()) paused->Tick();
      EXPECT_FALSE(result.has_come());
      EXPECT_FALSE(store_.waiting().front().progress.empty()) << "the store refuses it if the hold has ended";
      store_.Answer(has_hold ? absl::OkStatus() : absl::AbortedError("the hold has ended"));
      if (has_hold) {
        EXPECT_THAT(*result.Wait(), SizeIs(extends ? 0 : 1));
      } else {
        EXPECT_EQ(result.Wait().status().code(), absl::StatusCode::kUnavailable);
        Pass(absl::Seconds(1));  // then the store is asked again
      }
    }
  }
  store_.AnswerAtOnce();
  paused->Leave(consumer, /*gives_back=*/true);
  End(*paused);
}

// The gateway learns of a seek when it renews its hold.
TEST_F(ServedSubscriptionTest, AConsumerLosesNoTokenOfALaterIncarnationOrOfAPartitionThatIsElsewhere) {
  const auto superseded = [this](std::vector<DeliveryId> held) {
    std::vector<size_t> indexes;
    subscription_->Leave(subscription_->Join(10, held, &indexes), /*gives_back=*/true);
    return indexes;
  };
  const DeliveryId before_seek = {.partition = kEven, .position = 2, .number = 1, .incarnation = 0};
  DeliveryId after_seek = before_seek;
  after_seek.incarnation = 2;
  EXPECT_THAT(superseded({after_seek, before_seek}), ElementsAre(1));
  subscription_->OnHold(HoldOf(2, {kOdd}));
  EXPECT_THAT(superseded({after_seek, before_seek}), IsEmpty());
}

// The request goes to another subscription, which shares the store: the gateway that holds the partition.
TEST_F(ServedSubscriptionTest, ASettleOfAnotherGatewaysPartitionIsCarriedOutThere) {
  log_.Grow(4);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 4);
  ServedSubscription::Options options = OptionsOf();
  options.peers.emplace().ask = [this](size_t partition, std::string request,
                                       absl::AnyInvocable<void(absl::StatusOr<std::string>)> done) {
    asked_.push_back({++requests_, "payouts", partition, std::move(request)});
    waiting_for_[requests_] = std::move(done);
  };
  const auto other = std::make_shared<ServedSubscription>(std::move(options));
  other->Start();
  other->OnHold({.number = 1});
  std::vector<DeliveryId> ids = IdsOf(batch);
  ids.push_back({.partition = kEven, .position = 8, .number = 7, .incarnation = 1});
  ComingResult result;
  other->Settle(ids, SettleOutcome::kDone, absl::ZeroDuration(), "", result.callback());
  ASSERT_THAT(asked_, SizeIs(2)) << "one request for each partition";
  store_.Hold();
  for (const HolderRequest& request : asked_) {
    subscription_->OnRequest(request);
    subscription_->OnRequest(request);  // the store returns it until it is answered
  }
  EXPECT_FALSE(result.has_come());
  store_.AnswerAtOnce();
  std::map<int64_t, std::string> answers = store_.answers();
  EXPECT_THAT(answers, SizeIs(2));
  for (auto& [id, done] : waiting_for_) done(answers.at(id));
  waiting_for_.clear();
  EXPECT_THAT(*result.Wait(), ElementsAre(4)) << "the last delivery is not the current one";
  EXPECT_EQ(subscription_->state().all.through, 4);
  ComingResult failed;
  other->Settle(IdsOf(batch), SettleOutcome::kDone, absl::ZeroDuration(), "", failed.callback());
  ASSERT_THAT(waiting_for_, SizeIs(2));
  auto done = waiting_for_.begin();
  done->second(absl::UnavailableError("no answer in time"));
  (++done)->second("\xff");
  waiting_for_.clear();
  EXPECT_EQ(failed.Wait().status().code(), absl::StatusCode::kUnavailable);
  // The holder has not read the events again; or the answer never comes.
  for (const bool is_answered : {true, false}) {
    ComingResult unknown;
    other->Settle(IdsOf(batch), SettleOutcome::kDone, absl::ZeroDuration(), "", unknown.callback());
    ASSERT_THAT(waiting_for_, SizeIs(2));
    for (auto& [id, answer] : waiting_for_) {
      if (is_answered) answer(EncodeResult({{}, false, /*not_read_yet=*/true}));
    }
    waiting_for_.clear();
    EXPECT_EQ(unknown.Wait().status().code(), absl::StatusCode::kUnavailable);
  }
  End(*other);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ARequestForAnotherPartitionIsNotAnsweredAndOneThatIsNotUnderstoodIs) {
  log_.Grow(2);
  const auto consumer = Join(10);
  Take(consumer, 2);
  subscription_->OnHold(HoldOf(1, {kOdd}));
  subscription_->OnRequest({.id = 1, .subscription = "payouts", .partition = kEven, .request = ""});
  subscription_->OnRequest({.id = 2, .subscription = "payouts", .partition = kOdd, .request = "\xff"});
  subscription_->OnRequest({.id = 3, .subscription = "payouts", .partition = kOdd, .request = ""});
  const std::map<int64_t, std::string> answers = store_.answers();
  EXPECT_THAT(answers, SizeIs(2));
  for (const int64_t id : {2, 3}) EXPECT_EQ(DecodeResult(answers.at(id)), std::nullopt) << id;
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, APartitionThatNobodyWantsAnyMoreIsServedAgain) {
  log_.Grow(2);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 2);
  Hold hold = HoldOf(1, AllPartitions());
  hold.excess = kPartitions;
  subscription_->OnHold(hold);
  hold.excess = 0;
  subscription_->OnHold(hold);
  log_.Grow(4);
  Take(consumer, 2);
  EXPECT_THAT(*Settle(IdsOf(batch)).Wait(), IsEmpty());
  EXPECT_THAT(subscription_->Renew().given, IsEmpty());
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, APartitionIsGivenBackWhenNoConsumerHoldsItsEvents) {
  log_.Grow(2);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 2);
  Hold hold = HoldOf(1, AllPartitions());
  hold.excess = kPartitions;
  subscription_->OnHold(hold);
  HoldRenewal renewal = subscription_->Renew();
  EXPECT_FALSE(renewal.given.contains(kOdd));
  EXPECT_FALSE(renewal.given.contains(kEven));
  EXPECT_EQ(renewal.known.size() + renewal.given.size(), kPartitions);
  EXPECT_EQ(renewal.hold, 1);
  EXPECT_EQ(renewal.report.consumers, 1);
  log_.Grow(2);
  EXPECT_THAT(*Settle(IdsOf(batch)).Wait(), IsEmpty());
  EXPECT_EQ(store_.states().at("payouts").head.partitions[kOdd], (PartitionProgress{.through = 2, .reserved = 1}));
  renewal = subscription_->Renew();
  EXPECT_EQ(renewal.given.size(), 2u);
  EXPECT_EQ(renewal.given.at(kOdd), absl::ZeroDuration());
  EXPECT_THAT(renewal.known, IsEmpty());
  ComingBatch coming = Ask(consumer);
  EXPECT_FALSE(coming.has_come()) << "nothing more is sent";
  subscription_->CancelNext(consumer);
  EXPECT_FALSE(coming.Wait().ok());
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, SettlesThatTheStoreLacksFailWithALostHold) {
  log_.Grow(2);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 2);
  store_.Hold();
  ComingResult written = Settle({batch[0].id});
  ComingResult gathered = Settle({batch[1].id});
  EXPECT_FALSE(written.has_come());
  subscription_->OnHold(HoldOf(2, {}));
  EXPECT_EQ(written.Wait().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(gathered.Wait().status().code(), absl::StatusCode::kUnavailable);
  store_.Answer(absl::AbortedError("the hold has ended"));
  subscription_->OnHold(HoldOf(2, {kOdd}));
  Pass(absl::Seconds(2));
  for (const SubscriptionChange& change : store_.waiting()) {
    EXPECT_EQ(change.hold, 2);
    EXPECT_FALSE(change.progress.contains(kEven));
  }
  store_.AnswerAtOnce();
  subscription_->Leave(consumer, true);
}

}  // namespace
}  // namespace stampgate
