#include "gateway/subscriptions/served_subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gateway/feed/fake_log.h"
#include "gateway/feed/feed.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/metrics/registry.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"
#include "webhooks/log/fake_subscription_store.h"
#include "webhooks/log/partition.h"

namespace stampgate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kSettleWithin = absl::Seconds(30);
constexpr std::chrono::seconds kHang(60);

// The result of a call, which can come at any later time.
template <typename Value>
class Coming {
 public:
  absl::AnyInvocable<void(Value)> callback() {
    return [promise = promise_](Value value) { promise->set_value(std::move(value)); };
  }
  bool has_come() const { return future_.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  Value Wait() {
    EXPECT_EQ(future_.wait_for(kHang), std::future_status::ready);
    return future_.get();
  }

 private:
  std::shared_ptr<std::promise<Value>> promise_ = std::make_shared<std::promise<Value>>();
  std::future<Value> future_ = promise_->get_future();
};

using ComingBatch = Coming<absl::StatusOr<ServedSubscription::Batch>>;
using ComingResult = Coming<absl::StatusOr<std::vector<size_t>>>;

std::vector<Position> PositionsOf(const absl::StatusOr<ServedSubscription::Batch>& batch) {
  EXPECT_TRUE(batch.ok()) << batch.status();
  std::vector<Position> positions;
  if (batch.ok()) {
    for (const auto& sent : *batch) positions.push_back(sent.id.position);
  }
  return positions;
}

std::vector<DeliveryId> IdsOf(const ServedSubscription::Batch& batch) {
  std::vector<DeliveryId> ids;
  for (const auto& sent : batch) ids.push_back(sent.id);
  return ids;
}

const size_t kOdd = PartitionOf("=organization odd");
const size_t kEven = PartitionOf("=organization even");

std::set<size_t> AllPartitions() { return SoleHold({}, absl::ZeroDuration()).partitions; }

// The events at even positions are of the organization "even", the others of "odd": two keys.
class ServedSubscriptionTest : public ::testing::Test {
 protected:
  ServedSubscriptionTest() {
    settings_.limits.settle_within = kSettleWithin;
    settings_.limits.max_deliveries = 3;
    settings_.limits.max_unsettled_per_key = 2;
    settings_.filter = std::make_shared<EventFilter>();
    store_.AnswerAtOnce();
    Start();
  }

  ~ServedSubscriptionTest() override { Stop(); }

  ServedSubscription::Options OptionsOf() {
    ServedSubscription::Options options;
    options.name = "payouts";
    options.order = ServedSubscription::Order::kOrganization;
    options.settings = settings_;
    options.source = feed_.get();
    options.store = &store_;
    options.now = [this] { return absl::FromUnixSeconds(seconds_); };
    options.observers.on_delivery = [this](DeliveryReason reason) { reasons_.push_back(reason); };
    options.observers.on_park = [this](Position position, int64_t, const std::string& reason) {
      parked_.emplace_back(position, reason);
    };
    options.observers.on_done = [](absl::Duration) {};
    options.observers.on_lost = [this](const LostEvents& lost, int64_t count) {
      lost_.push_back(lost);
      lost_count_ += count;
    };
    options.observers.on_near_retention = [this] { ++near_retention_; };
    options.observers.on_not_stored = [](const absl::Status&) {};
    return options;
  }

  // Starts the subscription with what the store has.
  void Start() {
    feed_ = *EventFeed::Start(log_, *encoder_, 2, metrics_);
    if (!store_.states().contains("payouts")) {
      store_.Write({.subscription = "payouts", .head = SubscriptionHead{}}, [](const absl::Status&) {});
    }
    subscription_ = std::make_shared<ServedSubscription>(OptionsOf());
    subscription_->Start();
    subscription_->OnHold(SoleHold(store_.states().at("payouts"), settings_.limits.settle_within));
  }

  static void End(ServedSubscription& subscription) {
    subscription.End(absl::AbortedError("the gateway drains"));
    std::promise<void> closed;
    subscription.Close([&] { closed.set_value(); });
    closed.get_future().wait();
  }

  void Stop() {
    if (subscription_ == nullptr) return;
    End(*subscription_);
    feed_.reset();
    log_.SetOnGrowth([](Position) {});
    subscription_.reset();
  }

  // Waits for a result whose owner ticks.
  template <typename Result>
  auto WaitAndTick(Result& coming) {
    for (const auto end = std::chrono::steady_clock::now() + kHang;
         !coming.has_come() && std::chrono::steady_clock::now() < end;) {
      subscription_->Tick();
    }
    return coming.Wait();
  }

  // Returns a hold with these partitions, of which no consumer can hold an event. The subscription adds those that it
  // does not have.
  Hold HoldOf(int64_t number, const std::set<size_t>& partitions) {
    const HoldRenewal renewal = subscription_->Renew();
    Hold hold = {.number = number, .partitions = partitions, .state = store_.states().at("payouts")};
    for (const size_t partition : partitions) {
      if (number != renewal.hold || !renewal.known.contains(partition)) hold.added[partition] = absl::ZeroDuration();
    }
    return hold;
  }

  void Pass(absl::Duration time) {
    seconds_ += absl::ToInt64Seconds(time);
    subscription_->Tick();
  }

  ServedSubscription::ConsumerId Join(size_t places, const std::vector<DeliveryId>& held = {}) {
    return subscription_->Join(places, held, &superseded_);
  }

  ComingBatch Ask(ServedSubscription::ConsumerId consumer) {
    ComingBatch batch;
    subscription_->Next(consumer, absl::FromUnixSeconds(seconds_) + absl::Seconds(100), batch.callback());
    return batch;
  }

  absl::StatusOr<ServedSubscription::Batch> Next(ServedSubscription::ConsumerId consumer) {
    return Ask(consumer).Wait();
  }

  // Returns the next `count` deliveries.
  ServedSubscription::Batch Take(ServedSubscription::ConsumerId consumer, size_t count) {
    ServedSubscription::Batch all;
    while (all.size() < count) {
      auto batch = Next(consumer);
      EXPECT_TRUE(batch.ok()) << batch.status();
      if (!batch.ok() || batch->empty()) break;
      std::move(batch->begin(), batch->end(), std::back_inserter(all));
    }
    EXPECT_THAT(all, SizeIs(count));
    return all;
  }

  ComingResult Settle(const std::vector<DeliveryId>& ids, SettleOutcome outcome = SettleOutcome::kDone) {
    ComingResult result;
    subscription_->Settle(ids, outcome, absl::ZeroDuration(), "broken", result.callback());
    return result;
  }

  MetricRegistry registry_;
  FeedMetrics metrics_{registry_};
  FakeEventLog log_;
  std::unique_ptr<const EventEncoder> encoder_ =
      *EventEncoder::Create(testing::Pool(), "Service", log_.identity(), metrics_);
  FakeSubscriptionStore store_;
  ServedSubscription::Settings settings_;
  std::atomic<int64_t> seconds_ = 1000;
  std::vector<DeliveryReason> reasons_;
  std::vector<std::pair<Position, std::string>> parked_;
  std::vector<LostEvents> lost_;
  int64_t lost_count_ = 0;
  int near_retention_ = 0;
  std::vector<size_t> superseded_;
  int64_t requests_ = 0;
  std::vector<HolderRequest> asked_;
  std::map<int64_t, absl::AnyInvocable<void(absl::StatusOr<std::string>)>> waiting_for_;
  std::unique_ptr<EventFeed> feed_;
  std::shared_ptr<ServedSubscription> subscription_;
};

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

TEST_F(ServedSubscriptionTest, ASettleDoesNotWaitForAConsumerIfEventsAreMissingAfterAStart) {
  log_.Grow(4);
  const auto batch = Take(Join(10), 4);
  Stop();
  log_.Trim(3);
  Start();
  const absl::Status status = Settle({batch.back().id}).Wait().status();
  EXPECT_EQ(testing::DetailsOf(status).reason, "EVENT_LOG_UNAVAILABLE");
  const auto consumer = Join(10);
  EXPECT_EQ(Next(consumer).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(*Settle({batch.back().id}).Wait(), IsEmpty());
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, OneConsumerHearsOnceOfEventsThatRetentionHasDeleted) {
  Stop();
  log_.Grow(9);
  log_.Trim(6);
  Start();
  const auto first = Join(10);
  const absl::Status status = Next(first).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(status.message(), HasSubstr("events from 1 to 5"));
  EXPECT_THAT(PositionsOf(Take(first, 4)), ElementsAre(6, 7, 8, 9));
  ASSERT_THAT(lost_, SizeIs(1));
  EXPECT_EQ(lost_.front().last, 5);
  EXPECT_EQ(lost_count_, 5);
  subscription_->Leave(first, true);
}

TEST_F(ServedSubscriptionTest, PassesADamagedEvent) {
  log_.Damage(2);
  log_.Grow(3);
  const auto consumer = Join(10);
  EXPECT_THAT(PositionsOf(Next(consumer)), ElementsAre(1));
  EXPECT_EQ(Next(consumer).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(PositionsOf(Take(consumer, 1)), ElementsAre(3));
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, PassesADamagedEventAfterEventsThatDoNotPassTheFilter) {
  settings_.filter = std::make_shared<EventFilter>(EventFilter{.types = {"odd"}});
  subscription_->Use(settings_);
  log_.Damage(4);
  log_.Grow(5);
  const auto consumer = Join(10);
  std::vector<Position> seen;
  int missing = 0;
  while (seen.size() < 3) {
    const auto batch = Next(consumer);
    if (!batch.ok()) ++missing;
    if (!batch.ok()) continue;
    for (const Position position : PositionsOf(batch)) seen.push_back(position);
    EXPECT_TRUE(Settle(IdsOf(*batch)).Wait().ok());
  }
  EXPECT_THAT(seen, ElementsAre(1, 3, 5));
  EXPECT_EQ(missing, 1) << "it is not known whether the damaged event passes the filter";
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, EachReportOfMissingEventsReachesAConsumer) {
  log_.Grow(2);
  const auto consumer = Join(10);
  EXPECT_TRUE(Settle(IdsOf(Take(consumer, 2)), SettleOutcome::kPark).Wait().ok());
  ComingBatch next = Ask(consumer);
  subscription_->OnTrimmed({.earliest = 2, .latest = 2});
  EXPECT_THAT(next.Wait().status().message(), HasSubstr("event 1 "));
  subscription_->OnTrimmed({.earliest = 3, .latest = 2});
  EXPECT_THAT(lost_, SizeIs(1)) << "no consumer can receive a report now";
  ComingBatch later = Ask(consumer);
  subscription_->OnTrimmed({.earliest = 3, .latest = 2});
  EXPECT_THAT(later.Wait().status().message(), HasSubstr("event 2 "));
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, AReportOfMissingEventsOutlivesARestartIfThereIsNoConsumer) {
  log_.Grow(9);
  log_.Trim(6);
  subscription_->OnTrimmed({.earliest = 6, .latest = 9});
  Stop();
  Start();
  subscription_->OnTrimmed({.earliest = 6, .latest = 9});
  EXPECT_THAT(lost_, IsEmpty());
  const auto consumer = Join(10);
  ComingBatch next = Ask(consumer);
  subscription_->OnTrimmed({.earliest = 6, .latest = 9});
  EXPECT_THAT(next.Wait().status().message(), HasSubstr("events from 1 to 5"));
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

TEST_F(ServedSubscriptionTest, ForgetsHeldAndParkedEventsThatRetentionHasDeleted) {
  log_.Grow(4);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 4);
  EXPECT_TRUE(Settle({batch.front().id}, SettleOutcome::kPark).Wait().ok());
  log_.Trim(3);
  ComingBatch next = Ask(consumer);
  subscription_->OnTrimmed({.earliest = 3, .latest = 4});
  EXPECT_EQ(next.Wait().status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(*subscription_->Parked(0, 10), IsEmpty());
  EXPECT_EQ(subscription_->state().all.held, 2);
  subscription_->OnTrimmed({.earliest = 3, .latest = 4});
  EXPECT_THAT(lost_, SizeIs(1)) << "it reports them once";
  EXPECT_EQ(lost_count_, 2);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, ReportsOnceThatRetentionWillDeleteItsEvents) {
  subscription_->OnTrimmed({.earliest = 1, .latest = 100});
  EXPECT_EQ(near_retention_, 0) << "retention has deleted nothing yet";
  log_.Grow(100);
  const auto consumer = Join(10);
  const auto batch = Take(consumer, 4);
  EXPECT_TRUE(Settle(IdsOf(batch)).Wait().ok());
  for (int i = 0; i < 2; ++i) subscription_->OnTrimmed({.earliest = 2, .latest = 100});
  EXPECT_EQ(near_retention_, 1);
  subscription_->Leave(consumer, true);
}

TEST_F(ServedSubscriptionTest, RetentionIsNearToAParkedEventToo) {
  log_.Grow(3);
  const auto consumer = Join(10);
  auto batch = Take(consumer, 3);
  EXPECT_TRUE(Settle({batch.back().id}, SettleOutcome::kPark).Wait().ok());
  batch.pop_back();
  EXPECT_TRUE(Settle(IdsOf(batch)).Wait().ok());
  EXPECT_EQ(subscription_->state().all.through, 3);
  subscription_->OnTrimmed({.earliest = 2, .latest = 100});
  EXPECT_EQ(near_retention_, 1);
  subscription_->Leave(consumer, true);
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
