#include "gateway/subscriptions/hold_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/postgres/test_server.h"
#include "gateway/feed/fake_log.h"
#include "gateway/feed/feed.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/metrics/registry.h"
#include "translate/testing/dynamic_message.h"
#include "translate/testing/status.h"
#include "webhooks/log/fake_subscription_holds.h"
#include "webhooks/log/fake_subscription_store.h"
#include "webhooks/log/postgres/postgres_subscriptions.h"
#include "webhooks/log/postgres/testing.h"

namespace stampgate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kSettleWithin = absl::Seconds(30);

HoldKeeper::Options OptionsOf(SubscriptionHolds& holds) {
  return {.holds = &holds,
          .on_not_renewed = [](const auto&, const auto&) {},
          .on_other_incarnation = [](const auto&) {},
          .on_settings = [](const auto&, const auto&) {}};
}

ServedSubscription::Observers NoObservers() {
  return {.on_delivery = [](DeliveryReason) {},
          .on_park = [](Position, int64_t, const std::string&) {},
          .on_done = [](absl::Duration) {},
          .on_near_retention = [] {},
          .on_lost = [](const LostEvents&, int64_t) {},
          .on_not_stored = [](const absl::Status&) {}};
}

// A gateway with one consumer. All gateways have logs with the same events.
class Gateway {
 public:
  explicit Gateway(const PostgresAddress& address, int events)
      : subscriptions_(MakePostgresSubscriptions({.address = address, .steps = &LogSteps(), .now = absl::Now})),
        keeper_(std::make_unique<HoldKeeper>(OptionsOf(*subscriptions_))) {
    log_.Grow(events);
    feed_ = *EventFeed::Start(log_, *encoder_, 2, metrics_);
    ServedSubscription::Options options;
    options.name = "payouts";
    options.settings.limits = {.settle_within = kSettleWithin, .max_deliveries = 3, .max_unsettled_per_key = 10};
    options.settings.filter = std::make_shared<const EventFilter>();
    options.source = feed_.get();
    options.store = subscriptions_.get();
    options.now = absl::Now;
    options.peers = keeper_->PeersOf("payouts");
    options.observers = NoObservers();
    served_ = std::make_shared<ServedSubscription>(std::move(options));
    served_->Start();
    std::vector<size_t> superseded;
    consumer_ = served_->Join(1000, {}, &superseded);
    keeper_->Add(served_);
  }

  ~Gateway() {
    if (!is_killed_) {
      served_->End(absl::AbortedError("the gateway drains"));
      std::promise<void> closed;
      served_->Close([&] { closed.set_value(); });
      closed.get_future().wait();
      keeper_->Remove("payouts");
    }
    keeper_.reset();
    served_->End(absl::AbortedError("the gateway drains"));
    subscriptions_->Close();
    feed_.reset();
    log_.SetOnGrowth([](Position) {});
  }

  // Without an end of its hold.
  void Kill() { is_killed_ = true; }

  // Adds what the gateway sends in a moment.
  void Receive(std::vector<DeliveryId>* ids) {
    std::promise<ServedSubscription::Batch> received;
    served_->Next(consumer_, absl::Now() + absl::Milliseconds(50),
                  [&](absl::StatusOr<ServedSubscription::Batch> batch) {
                    received.set_value(batch.ok() ? *std::move(batch) : ServedSubscription::Batch());
                  });
    std::future<ServedSubscription::Batch> future = received.get_future();
    while (future.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) served_->Tick();
    for (const ServedSubscription::Sent& each : future.get()) ids->push_back(each.id);
  }

  absl::StatusOr<std::vector<size_t>> Settle(const std::vector<DeliveryId>& deliveries) {
    std::promise<absl::StatusOr<std::vector<size_t>>> settled;
    served_->Settle(deliveries, SettleOutcome::kDone, absl::ZeroDuration(), "",
                    [&](absl::StatusOr<std::vector<size_t>> result) { settled.set_value(std::move(result)); });
    return settled.get_future().get();
  }

  size_t partitions() { return served_->state().partitions; }
  ServedSubscription& served() { return *served_; }
  SubscriptionStore& store() { return *subscriptions_; }

 private:
  MetricRegistry registry_;
  FeedMetrics metrics_{registry_};
  FakeEventLog log_;
  std::unique_ptr<const EventEncoder> encoder_ =
      *EventEncoder::Create(testing::Pool(), "Service", log_.identity(), metrics_);
  std::unique_ptr<EventFeed> feed_;
  std::unique_ptr<PostgresSubscriptions> subscriptions_;
  std::unique_ptr<HoldKeeper> keeper_;
  std::shared_ptr<ServedSubscription> served_;
  ServedSubscription::ConsumerId consumer_ = 0;
  bool is_killed_ = false;
};

class HoldKeeperTest : public ::testing::Test {
 protected:
  static constexpr int kEvents = 200;

  HoldKeeperTest() {
    const auto subscriptions = MakePostgresSubscriptions({.address = address_, .steps = &LogSteps(), .now = absl::Now});
    EXPECT_TRUE(subscriptions->Declare({.subscription = "payouts", .order = 3}).ok());
  }

  std::unique_ptr<Gateway> NewGateway() { return std::make_unique<Gateway>(address_, kEvents); }

  const PostgresAddress address_ = SharedServer().NewStore(LogSteps());
};

TEST_F(HoldKeeperTest, TwoGatewaysDivideTheEventsAndEachSettlesThoseOfTheOther) {
  // On a busy machine, a hold must not end while its gateway waits for the processor.
  SharedServer().Sql("UPDATE bounds SET hold_lasts_us = 300000000", address_.schema);
  const auto first = NewGateway();
  ASSERT_TRUE(Eventually([&] { return first->partitions() == kPartitions; }));
  const auto second = NewGateway();
  ASSERT_TRUE(Eventually([&] { return second->partitions() == kPartitions / 2; }));
  std::vector<DeliveryId> of_first;
  std::vector<DeliveryId> of_second;
  ASSERT_TRUE(Eventually([&] {
    first->Receive(&of_first);
    second->Receive(&of_second);
    return of_first.size() + of_second.size() >= kEvents;
  }));
  std::set<Position> sent;
  for (const DeliveryId& id : of_first) sent.insert(id.position);
  for (const DeliveryId& id : of_second) sent.insert(id.position);
  EXPECT_THAT(sent, SizeIs(kEvents)) << "each event is sent once";
  EXPECT_THAT(of_second, Not(IsEmpty()));
  EXPECT_THAT(*first->Settle(of_second), IsEmpty());
  EXPECT_THAT(*second->Settle(of_first), IsEmpty());
  const SubscriptionState state = first->store().Load()->at("payouts");
  for (const PartitionProgress& progress : state.head.partitions) EXPECT_EQ(progress.through, kEvents);
  EXPECT_THAT(state.rows, IsEmpty());
}

TEST_F(HoldKeeperTest, AGatewayGetsThePartitionsOfOneThatEndsOrIsGone) {
  auto first = NewGateway();
  auto second = NewGateway();
  const auto third = NewGateway();
  ASSERT_TRUE(Eventually([&] { return third->partitions() >= 5; }));
  first.reset();
  second->Kill();
  second.reset();
  ASSERT_TRUE(Eventually([&] { return third->partitions() == kPartitions; }));
  std::vector<DeliveryId> ids;
  ASSERT_TRUE(Eventually([&] {
    third->Receive(&ids);
    return ids.size() >= kEvents;
  }));
  EXPECT_THAT(*third->Settle(ids), IsEmpty());
}

// A gateway that asks others about the subscription "payouts". The test answers for them.
class HoldKeeperOfAskerTest : public ::testing::Test {
 protected:
  using Answer = absl::StatusOr<std::string>;

  void Begin(std::chrono::steady_clock::duration answer_within = std::chrono::minutes(10)) {
    HoldKeeper::Options options = OptionsOf(holds_);
    options.answer_within = answer_within;
    options.on_other_incarnation = [this](const std::string& name) {
      EXPECT_EQ(name, "payouts");
      ++other_incarnations_;
    };
    keeper_ = std::make_unique<HoldKeeper>(std::move(options));
  }

  // Asks, and waits until the others can see the request.
  std::future<Answer> Ask() {
    const int64_t before = holds_.asked();
    auto answered = std::make_shared<std::promise<Answer>>();
    // A second call throws an exception.
    keeper_->PeersOf("payouts").ask(3, "settle 9",
                                    [answered](Answer answer) { answered->set_value(std::move(answer)); });
    EXPECT_TRUE(Eventually([&] { return holds_.asked() > before; }));
    return answered->get_future();
  }

  FakeSubscriptionHolds holds_;
  std::atomic<int> other_incarnations_ = 0;
  std::unique_ptr<HoldKeeper> keeper_;
};

TEST_F(HoldKeeperOfAskerTest, EachAnswerIsForItsRequest) {
  Begin();
  std::future<Answer> first = Ask();
  std::future<Answer> second = Ask();
  holds_.Answer({2, "of the second"});
  EXPECT_EQ(*second.get(), "of the second");
  holds_.Answer({1, "of the first"});
  EXPECT_EQ(*first.get(), "of the first");
}

TEST_F(HoldKeeperOfAskerTest, ARequestWithoutAnAnswerFailsWhenItsTimeIsOver) {
  Begin(std::chrono::milliseconds(1));
  std::future<Answer> answer = Ask();
  EXPECT_EQ(testing::DetailsOf(answer.get().status()).reason, "EVENT_LOG_UNAVAILABLE");
}

TEST_F(HoldKeeperOfAskerTest, ASecondAnswerAndOneForNobodyAreIgnored) {
  Begin();
  std::future<Answer> first = Ask();
  std::future<Answer> second = Ask();
  holds_.Answer({77, "for nobody"});
  holds_.Answer({1, "the first"});
  EXPECT_EQ(*first.get(), "the first");
  holds_.Answer({1, "once more"});
  holds_.Answer({2, "the second"});
  EXPECT_EQ(*second.get(), "the second");
}

TEST_F(HoldKeeperOfAskerTest, ARequestThatCannotBeMadeFailsAtOnce) {
  Begin();
  holds_.Fail(absl::UnavailableError("the server is away"));
  std::promise<Answer> answered;
  keeper_->PeersOf("payouts").ask(3, "settle 9", [&](Answer answer) { answered.set_value(std::move(answer)); });
  EXPECT_EQ(testing::DetailsOf(answered.get_future().get().status()).reason, "EVENT_LOG_UNAVAILABLE");
}

TEST_F(HoldKeeperOfAskerTest, ARequestFailsWhenTheGatewayEnds) {
  Begin();
  std::future<Answer> answer = Ask();
  keeper_.reset();
  EXPECT_EQ(testing::DetailsOf(answer.get().status()).reason, "EVENT_LOG_UNAVAILABLE");
}

TEST_F(HoldKeeperOfAskerTest, ASubscriptionThatIsRemovedLosesItsHoldAndAnotherIncarnationIsReported) {
  MetricRegistry registry;
  FeedMetrics metrics(registry);
  FakeEventLog log;
  const std::unique_ptr<const EventEncoder> encoder =
      *EventEncoder::Create(testing::Pool(), "Service", log.identity(), metrics);
  const std::unique_ptr<EventFeed> feed = *EventFeed::Start(log, *encoder, 2, metrics);
  FakeSubscriptionStore store;
  Begin();
  ServedSubscription::Options options;
  options.name = "payouts";
  options.order = ServedSubscription::Order::kNone;
  options.settings.filter = std::make_shared<const EventFilter>();
  options.source = feed.get();
  options.store = &store;
  options.now = absl::Now;
  options.peers = keeper_->PeersOf("payouts");
  options.observers = NoObservers();
  const auto served = std::make_shared<ServedSubscription>(std::move(options));
  Hold hold = {.number = 1};
  hold.state.head.order = static_cast<int64_t>(served->order());
  hold.state.head.incarnation = 4;
  holds_.Give(hold);
  keeper_->Add(served);
  const auto await_renewals = [&] {
    return Eventually([&, before = holds_.renewals()] { return holds_.renewals() > before + 1; });
  };
  ASSERT_TRUE(await_renewals());
  EXPECT_EQ(other_incarnations_, 0);
  hold.state.head.incarnation = 5;
  holds_.Give(hold);
  ASSERT_TRUE(await_renewals());
  EXPECT_EQ(other_incarnations_, 1);
  keeper_->Remove("payouts");
  EXPECT_THAT(holds_.ended(), ElementsAre("payouts"));
  keeper_->Remove("payouts");
  keeper_.reset();
  log.SetOnGrowth([](Position) {});
}

}  // namespace
}  // namespace stampgate
