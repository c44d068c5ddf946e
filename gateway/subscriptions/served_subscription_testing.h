// A fixture for the tests of ServedSubscription, with an event log and a store in memory.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_SERVED_SUBSCRIPTION_TESTING_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_SERVED_SUBSCRIPTION_TESTING_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/feed/fake_log.h"
#include "gateway/feed/feed.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/metrics/registry.h"
#include "gateway/subscriptions/served_subscription.h"
#include "translate/testing/dynamic_message.h"
#include "webhooks/log/fake_subscription_store.h"
#include "webhooks/log/partition.h"

namespace stampgate {

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

inline std::vector<Position> PositionsOf(const absl::StatusOr<ServedSubscription::Batch>& batch) {
  EXPECT_TRUE(batch.ok()) << batch.status();
  std::vector<Position> positions;
  if (batch.ok()) {
    for (const auto& sent : *batch) positions.push_back(sent.id.position);
  }
  return positions;
}

inline std::vector<DeliveryId> IdsOf(const ServedSubscription::Batch& batch) {
  std::vector<DeliveryId> ids;
  for (const auto& sent : batch) ids.push_back(sent.id);
  return ids;
}

inline const size_t kOdd = PartitionOf("=organization odd");
inline const size_t kEven = PartitionOf("=organization even");

inline std::set<size_t> AllPartitions() { return SoleHold({}, absl::ZeroDuration()).partitions; }

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
    EXPECT_EQ(all.size(), count);
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

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_SERVED_SUBSCRIPTION_TESTING_H_
