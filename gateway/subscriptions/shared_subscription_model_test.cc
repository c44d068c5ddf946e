// Compares random histories of a shared subscription at two gateways with a naive model: which events may be sent to
// whom, and what a settle returns. The histories contain partitions that move, crashes, writes that fail, lagging keys,
// lost events and seeks. With STAMPGATE_LONG=1, the test has 20,000 histories instead of 500; STAMPGATE_SEED=...
// repeats one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gateway/subscriptions/shared_subscription.h"
#include "webhooks/log/partition.h"

namespace stampgate {
namespace {

using Delivery = SharedSubscription::Delivery;
using ConsumerId = SharedSubscription::ConsumerId;
using ReadEvent = SharedSubscription::ReadEvent;

constexpr absl::Duration kSettleWithin = absl::Seconds(30);
constexpr int64_t kMaxDeliveries = 3;

// The store of one subscription.
class Store {
 public:
  // Applies a change of a gateway that holds these partitions.
  void Apply(const SubscriptionChange& change, const std::set<size_t>& held) {
    if (change.head.has_value()) head_ = *change.head;
    for (const auto& [partition, progress] : change.progress) {
      ASSERT_TRUE(held.contains(partition));
      head_.partitions[partition] = progress;
    }
    for (const Position position : change.erase) {
      const auto it = rows_.find(position);
      if (it != rows_.end() && held.contains(it->second.partition)) rows_.erase(it);
    }
    for (const SubscriptionRow& row : change.put) {
      ASSERT_TRUE(held.contains(row.partition)) << "event " << row.position;
      rows_[row.position] = row;
    }
    for (const std::string& key : change.erase_lagging) {
      ASSERT_TRUE(held.contains(PartitionOf(key)));
      lagging_.erase(key);
    }
    for (const auto& [key, position] : change.put_lagging) {
      ASSERT_TRUE(held.contains(PartitionOf(key)));
      lagging_[key] = position;
    }
  }

  SubscriptionState state() const {
    SubscriptionState state;
    state.head = head_;
    for (const auto& [position, row] : rows_) state.rows.push_back(row);
    state.lagging = lagging_;
    return state;
  }

  const std::map<Position, SubscriptionRow>& rows() const { return rows_; }

 private:
  SubscriptionHead head_;
  std::map<Position, SubscriptionRow> rows_;
  std::map<std::string, Position> lagging_;
};

// What the model knows about one event.
struct ModelEvent {
  enum class State { kOpen, kDone, kParked, kLost };

  std::string key;
  State state = State::kOpen;
  bool is_written = true;  // if it is done: whether the consumer knows that the store has this
  bool retried = false;    // out of order
  // How often the event was sent, at least and at most.
  int64_t sent = 0;
  int64_t sent_at_most = 0;
  int64_t uncounted = 0;  // of these, those before it was parked, and those that were assigned and not sent
  bool held = false;
  bool is_unsent = false;    // held, but not sent yet
  bool may_be_held = false;  // the subscription believes it, but no consumer got the event
  ConsumerId consumer = 0;
  absl::Time until;
  absl::Time not_before = absl::InfinitePast();

  int64_t limit() const { return uncounted + kMaxDeliveries; }
};

// One delivery that a consumer got, perhaps long ago.
struct Token {
  size_t partition;
  Position position;
  int64_t number;
};

// What a read of the log returns, some time after it began.
struct Page {
  Position after;
  std::vector<ReadEvent> events;
  Position through;
};

struct Gateway {
  std::unique_ptr<SharedSubscription> subscription;
  std::optional<SubscriptionChange> under_way;
  std::map<ConsumerId, size_t> consumers;  // and their places
  std::vector<Delivery> unsent;
  std::vector<std::pair<Position, uint64_t>> acks;  // results that wait for a write
  std::set<size_t> stopping;                        // partitions of which it sends nothing any more
  std::optional<Page> page;                         // of the read in progress
  std::optional<Page> lagging_page;                 // the same for lagging keys
};

std::string NameOf(Position position, const std::string& key) {
  return key.empty() ? absl::StrCat("#", position) : absl::StrCat("=", key);
}

class History {
 public:
  History(uint64_t seed, const SharedSubscription::Options& options) : random_(seed), options_(options) {
    std::array<std::set<size_t>, 2> held;
    for (size_t partition = 0; partition < kPartitions; ++partition) held[Pick(2)].insert(partition);
    for (size_t i = 0; i < held.size(); ++i) {
      g_ = &gateways_[i];
      g_->subscription = std::make_unique<SharedSubscription>(options_);
      Add(held[i], /*is_clean=*/true);
    }
  }

  // Does one random step at one of the gateways.
  void Step() {
    g_ = &gateways_[Pick(2)];
    const int dice = Pick(104);
    if (dice < 18) {
      Append();
    } else if (dice < 32) {
      Read();
    } else if (dice < 38) {
      ReadLagging();
    } else if (dice < 42) {
      AddConsumer();
    } else if (dice < 44) {
      RemoveConsumer();
    } else if (dice < 60) {
      Assign();
    } else if (dice < 78) {
      Settle();
    } else if (dice < 88) {
      Write();
    } else if (dice < 94) {
      Pass(absl::Seconds(Pick(12)));
    } else if (dice < 96) {
      Administrate();
    } else if (dice < 97) {
      Restart();
    } else if (dice < 98) {
      Resume();
    } else if (dice == 98 && Pick(5) == 0) {
      Lose();
    } else if (dice == 99 && Pick(3) == 0) {
      Seek();
    } else if (dice == 100) {
      StopSending();
    } else if (dice == 101) {
      Release();
    } else if (dice == 102) {
      Take();
    }
    Check();
  }

  // Consumers settle all events; fails if the subscription does not send one.
  void Drain() {
    for (Gateway& gateway : gateways_) {
      g_ = &gateway;
      AddConsumer();
      for (const size_t partition : std::exchange(gateway.stopping, {})) Move(partition, /*is_clean=*/false);
    }
    for (int round = 0; round < 4000 && HasOpen(); ++round) {
      g_ = &gateways_[round % 2];
      Read();
      ReadLagging();
      Assign();
      SettleAllHeld();
      Write();
      Pass(absl::Seconds(10));
      Check();
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_FALSE(HasOpen()) << "an event is never sent";
  }

 private:
  int Pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  void Append() {
    ++latest_;
    if (Pick(5) == 0) return;  // does not pass the filter
    const int key = Pick(6);
    events_[latest_].key = key == 0 ? "" : absl::StrCat("k", key < 4 ? 1 : key);
  }

  Page After(Position after, size_t most) const {
    Page page = {after, {}, latest_};
    for (auto it = events_.upper_bound(after); it != events_.end(); ++it) {
      if (it->second.state == ModelEvent::State::kLost) continue;
      if (page.events.size() == most) {
        page.through = it->first - 1;
        break;
      }
      page.events.push_back({.position = it->first, .key = it->second.key});
    }
    return page;
  }

  // Begins or ends a read.
  void Read() {
    if (!g_->page.has_value()) {
      const size_t wanted = g_->subscription->WantsEvents(latest_);
      if (wanted == 0) return;
      g_->page = After(g_->subscription->read(), 1 + Pick(static_cast<int>(wanted)));
      if (Pick(2) == 0) return;
    }
    const Page page = *std::exchange(g_->page, std::nullopt);
    g_->subscription->OnRead(page.after, page.events, page.through, now_);
  }

  void ReadLagging() {
    if (!g_->lagging_page.has_value()) {
      const std::optional<Position> after = g_->subscription->WantsLagging();
      if (!after.has_value()) return;
      g_->lagging_page = After(*after, 1 + Pick(10));
      if (Pick(2) == 0) return;
    }
    const Page page = *std::exchange(g_->lagging_page, std::nullopt);
    g_->subscription->OnLaggingRead(page.after, page.events, page.through, now_);
    Adopt();
  }

  void AddConsumer() {
    const size_t places = 1 + Pick(8);
    ConsumerId id = 0;
    // A consumer of the one gateway has an even number, and one of the other gateway an odd one.
    do {
      id = g_->subscription->AddConsumer(places);
      if (id % 2 != static_cast<size_t>(g_ - gateways_.data())) g_->subscription->RemoveConsumer(id, true, now_);
    } while (id % 2 != static_cast<size_t>(g_ - gateways_.data()));
    g_->consumers[id] = places;
  }

  void RemoveConsumer() {
    if (g_->consumers.empty()) return;
    auto it = g_->consumers.begin();
    std::advance(it, Pick(static_cast<int>(g_->consumers.size())));
    const ConsumerId id = it->first;
    const bool gives_back = Pick(2) == 0;
    g_->consumers.erase(it);
    GiveBackUnsent(id);
    for (auto& [position, event] : events_) {
      if (!event.held || event.consumer != id) continue;
      event.consumer = 0;
      if (gives_back) {
        SendAgain(position);
      } else if (Pick(3) == 0) {
        LoseDelivery(position);
      }
    }
    g_->subscription->RemoveConsumer(id, gives_back, now_);
  }

  // The latest delivery of an event has not arrived at its consumer.
  void LoseDelivery(Position position) {
    ModelEvent& event = events_.at(position);
    event.may_be_held = true;
    std::erase_if(tokens_,
                  [&](const Token& token) { return token.position == position && token.number == event.sent_at_most; });
  }

  // The consumer has not got these deliveries.
  void GiveBackUnsent(ConsumerId id) {
    for (auto delivery = g_->unsent.rbegin(); delivery != g_->unsent.rend(); ++delivery) {
      if (delivery->consumer != id || !g_->subscription->IsCurrent(delivery->position, delivery->number)) continue;
      g_->subscription->GiveBack(delivery->position, delivery->number, now_);
      ModelEvent& event = events_.at(delivery->position);
      event.held = event.is_unsent = false;
      event.consumer = 0;
      --event.sent_at_most;
    }
    std::erase_if(g_->unsent, [id](const Delivery& delivery) { return delivery.consumer == id; });
  }

  void Assign() {
    for (const auto& [id, places] : g_->consumers) {
      if (Pick(4) != 0) g_->subscription->SetReceiving(id, true);
    }
    for (const Delivery& delivery : g_->subscription->Assign(now_, 1 + Pick(4), 1 + Pick(3))) {
      OnDelivery(delivery);
      if (testing::Test::HasFailure()) return;
    }
  }

  void OnDelivery(const Delivery& delivery) {
    SCOPED_TRACE(absl::StrCat("delivery ", delivery.number, " of event ", delivery.position));
    ASSERT_TRUE(events_.contains(delivery.position));
    ASSERT_TRUE(g_->consumers.contains(delivery.consumer));
    ModelEvent& event = events_.at(delivery.position);
    ASSERT_EQ(delivery.partition, PartitionOf(NameOf(delivery.position, event.key)));
    ASSERT_TRUE(g_->subscription->Holds(delivery.partition));
    ASSERT_FALSE(g_->stopping.contains(delivery.partition));
    ASSERT_EQ(event.state, ModelEvent::State::kOpen);
    ASSERT_FALSE(event.held);
    ASSERT_GT(delivery.number, event.sent);
    ASSERT_LE(delivery.number, event.sent_at_most + 1);
    ASSERT_EQ(delivery.count, delivery.number - event.uncounted);
    ASSERT_TRUE(delivery.count <= kMaxDeliveries || has_been_full_);
    ASSERT_EQ(delivery.out_of_order, event.retried);
    ASSERT_EQ(delivery.count == 1 && !event.retried,
              delivery.reason == DeliveryReason::kFirst || delivery.reason == DeliveryReason::kSeek);
    ASSERT_LE(event.not_before, now_);
    if (!event.retried && !event.key.empty()) CheckOrder(delivery, event);
    event.held = true;
    event.is_unsent = true;
    event.may_be_held = false;
    event.consumer = delivery.consumer;
    event.until = now_ + kSettleWithin;
    event.sent_at_most = delivery.number;
    size_t held = 0;
    size_t held_of_key = 0;
    for (const auto& [position, other] : events_) {
      if (!other.held || other.consumer != delivery.consumer) continue;
      ++held;
      if (!other.may_be_held && !other.retried && other.key == event.key) ++held_of_key;
    }
    ASSERT_LE(held, g_->consumers.at(delivery.consumer));
    if (!event.retried && !event.key.empty()) ASSERT_LE(held_of_key, options_.max_unsettled_per_key);
    g_->unsent.push_back(delivery);
    SendWritten();
  }

  void CheckOrder(const Delivery& delivery, const ModelEvent& event) {
    for (const auto& [position, other] : events_) {
      if (other.key != event.key || other.retried || position == delivery.position) continue;
      if (position < delivery.position) {
        const bool is_settled =
            other.state != ModelEvent::State::kOpen || g_->subscription->parked().contains(position);
        ASSERT_TRUE(is_settled || (other.held && !other.may_be_held && other.consumer == delivery.consumer))
            << "event " << position << " of the same key is not settled, and the consumer does not have it";
        ASSERT_TRUE(is_settled || (delivery.number == 1 && other.sent_at_most <= 1))
            << "with event " << position << ": an event that is sent again must be sent alone";
      } else {
        ASSERT_FALSE(other.held && !other.may_be_held) << "event " << position << " of the same key is held";
      }
    }
  }

  // Consumers get the deliveries that may be sent now.
  void SendWritten() {
    std::erase_if(g_->unsent, [&](const Delivery& delivery) {
      if (delivery.after_write > g_->subscription->changes().written()) return false;
      if (!g_->subscription->IsCurrent(delivery.position, delivery.number)) return true;
      ModelEvent& event = events_.at(delivery.position);
      g_->subscription->OnSent(delivery.position, now_);
      event.is_unsent = false;
      event.until = now_ + kSettleWithin;
      event.sent = event.sent_at_most = delivery.number;
      tokens_.push_back({delivery.partition, delivery.position, delivery.number});
      return true;
    });
  }

  void Settle() {
    if (tokens_.empty()) return;
    const int choice = Pick(10);
    const SettleOutcome outcome = choice < 6   ? SettleOutcome::kDone
                                  : choice < 8 ? SettleOutcome::kRetry
                                  : choice < 9 ? SettleOutcome::kExtend
                                               : SettleOutcome::kPark;
    const size_t among = std::min<size_t>(tokens_.size(), Pick(5) == 0 ? tokens_.size() : 12);
    SettleOne(tokens_[tokens_.size() - 1 - Pick(static_cast<int>(among))], outcome);
  }

  void SettleAllHeld() {
    for (const Token& token : std::vector<Token>(tokens_)) {
      const ModelEvent& event = events_.at(token.position);
      const bool is_here = g_->subscription->Holds(token.partition);
      if (is_here && event.held && event.sent_at_most == token.number) SettleOne(token, SettleOutcome::kDone);
      if (testing::Test::HasFailure()) return;
    }
  }

  void SettleOne(const Token& token, SettleOutcome outcome) {
    ModelEvent& event = events_.at(token.position);
    const absl::Duration delay = Pick(2) == 0 ? absl::ZeroDuration() : absl::Seconds(Pick(20));
    const bool is_full = g_->subscription->parked().size() >= options_.max_parked;
    const auto settled =
        g_->subscription->Settle(token.partition, token.position, token.number, outcome, delay, "asked", now_);
    const bool is_held = event.state == ModelEvent::State::kOpen && event.held && event.sent_at_most == token.number;
    SCOPED_TRACE(absl::StrCat("settle ", static_cast<int>(outcome), " of delivery ", token.number, " of event ",
                              token.position, " returns ", static_cast<int>(settled.result)));
    switch (settled.result) {
      case SettleResult::kSettled:
        ASSERT_TRUE(is_held);
        break;
      case SettleResult::kAlreadySettled:
        ASSERT_TRUE(event.state == ModelEvent::State::kDone || event.state == ModelEvent::State::kParked ||
                    event.state == ModelEvent::State::kLost);
        return;
      case SettleResult::kSuperseded:
        ASSERT_FALSE(is_held);
        return;
      case SettleResult::kNotReadYet:
        ASSERT_TRUE(has_restarted_);
        return;
      case SettleResult::kNotHeld:
        ASSERT_FALSE(g_->subscription->Holds(token.partition));
        return;
      case SettleResult::kTooManyParked:
        ASSERT_TRUE(is_held && is_full && outcome == SettleOutcome::kPark);
        return;
    }
    switch (outcome) {
      case SettleOutcome::kDone:
        event.state = ModelEvent::State::kDone;
        event.is_written = false;
        event.held = false;
        g_->acks.emplace_back(token.position, settled.after_write);
        break;
      case SettleOutcome::kPark:
        event.state = ModelEvent::State::kParked;
        event.held = false;
        break;
      case SettleOutcome::kRetry:
        event.state = ModelEvent::State::kOpen;
        SendAgain(token.position);
        event.not_before = now_ + delay;
        break;
      case SettleOutcome::kExtend:
        event.state = ModelEvent::State::kOpen;
        event.held = true;
        event.until = now_ + kSettleWithin;
        break;
    }
    Acknowledge();
  }

  // The event and the held ones after it of its key wait.
  void SendAgain(Position from) {
    ModelEvent& event = events_.at(from);
    Release(event);
    if (event.retried || event.key.empty()) return;
    for (auto it = events_.upper_bound(from); it != events_.end(); ++it) {
      if (it->second.key == event.key && !it->second.retried && it->second.held) Release(it->second);
    }
  }

  static void Release(ModelEvent& event) {
    event.held = false;
    if (std::exchange(event.is_unsent, false)) ++event.uncounted;
  }

  void Acknowledge() {
    std::erase_if(g_->acks, [&](const std::pair<Position, uint64_t>& ack) {
      if (ack.second > g_->subscription->changes().written()) return false;
      ModelEvent& event = events_.at(ack.first);
      event.is_written = true;
      return true;
    });
  }

  // Begins or ends a write.
  void Write() {
    UnwrittenChanges& changes = g_->subscription->changes();
    if (!g_->under_way.has_value()) {
      if (changes.CanTake()) g_->under_way = changes.Take("s");
      if (Pick(2) == 0) return;
    }
    if (g_->under_way.has_value()) FinishWrite(Pick(5) != 0);
  }

  void FinishWrite(bool succeeds) {
    if (succeeds) store_.Apply(*g_->under_way, g_->subscription->Held());
    g_->under_way.reset();
    g_->subscription->changes().Finish(succeeds);
    SendWritten();
    Acknowledge();
  }

  void WriteAll() {
    while (g_->under_way.has_value() || g_->subscription->changes().CanTake()) Write();
  }

  // Whether the current gateway holds the event's partition.
  bool IsHere(Position position, const ModelEvent& event) const {
    return g_->subscription->Holds(PartitionOf(NameOf(position, event.key)));
  }

  void Pass(absl::Duration time) {
    now_ += time;
    while (true) {
      Position first = 0;
      for (const auto& [position, event] : events_) {
        if (!event.held || event.until > now_) continue;
        if (first == 0 || event.until < events_.at(first).until) first = position;
      }
      if (first == 0) break;
      SendAgain(first);
    }
    for (Gateway& gateway : gateways_) gateway.subscription->Tick(now_);
  }

  void Administrate() {
    if (g_->subscription->parked().empty()) return;
    const Position position = g_->subscription->parked().begin()->first;
    ModelEvent& event = events_.at(position);
    if (Pick(2) == 0) {
      ASSERT_TRUE(g_->subscription->SkipParked(position));
      event.state = ModelEvent::State::kDone;
      event.is_written = false;
      g_->acks.emplace_back(position, g_->subscription->changes().last());
    } else {
      ASSERT_TRUE(g_->subscription->RetryParked(position, now_));
      event.state = ModelEvent::State::kOpen;
      event.retried = true;
      event.not_before = absl::InfinitePast();
      event.uncounted = event.sent_at_most;
      event.is_written = false;
      g_->acks.emplace_back(position, g_->subscription->changes().last());
    }
  }

  // The gateway is killed and started again. The store can have the write that was in progress.
  void Restart() {
    has_restarted_ = true;
    const std::set<size_t> held = g_->subscription->Held();
    if (g_->under_way.has_value() && Pick(2) == 0) store_.Apply(*g_->under_way, held);
    *g_ = Gateway();
    g_->subscription = std::make_unique<SharedSubscription>(options_);
    Add(held, /*is_clean=*/false);
  }

  // Picks a partition that the gateway holds.
  std::optional<size_t> PickHeld() {
    const std::set<size_t> held = g_->subscription->Held();
    if (held.empty()) return std::nullopt;
    return *std::next(held.begin(), Pick(static_cast<int>(held.size())));
  }

  void StopSending() {
    const std::optional<size_t> partition = PickHeld();
    if (!partition.has_value()) return;
    g_->subscription->StopSending(*partition);
    g_->stopping.insert(*partition);
  }

  // Moves a partition to the other gateway of which the consumers hold nothing.
  void Release() {
    for (const size_t partition : std::set<size_t>(g_->stopping)) {
      if (!g_->subscription->IsIdle(partition, now_)) continue;
      while (g_->under_way.has_value() || g_->subscription->changes().CanTake()) Write();
      if (testing::Test::HasFailure()) return;
      g_->stopping.erase(partition);
      return Move(partition, /*is_clean=*/true);
    }
  }

  // The other gateway takes a partition, because this one was paused.
  void Take() {
    const std::optional<size_t> partition = PickHeld();
    if (!partition.has_value()) return;
    g_->stopping.erase(*partition);
    Move(*partition, /*is_clean=*/false);
  }

  void Move(size_t partition, bool is_clean) {
    has_restarted_ = true;
    if (g_->under_way.has_value()) FinishWrite(Pick(2) == 0);
    const auto is_of_it = [&](Position position) {
      return PartitionOf(NameOf(position, events_.at(position).key)) == partition;
    };
    g_->subscription->RemovePartition(partition);
    std::erase_if(g_->unsent, [&](const Delivery& delivery) { return delivery.partition == partition; });
    std::erase_if(g_->acks, [&](const auto& ack) { return is_of_it(ack.first); });
    Gateway* const before = g_;
    g_ = g_ == &gateways_[0] ? &gateways_[1] : &gateways_[0];
    Add({partition}, is_clean);
    g_ = before;
  }

  // The gateway gets partitions, with what the store has. If they are clean, no consumer holds their events.
  void Add(const std::set<size_t>& partitions, bool is_clean) {
    const SubscriptionState state = store_.state();
    for (auto& [position, event] : events_) {
      const std::string name = NameOf(position, event.key);
      const size_t partition = PartitionOf(name);
      if (!partitions.contains(partition)) continue;
      const bool was_held = std::exchange(event.held, false) && !event.may_be_held;
      event.consumer = 0;
      event.is_unsent = false;
      event.not_before = absl::InfinitePast();
      if (event.state == ModelEvent::State::kLost) continue;
      const auto row = store_.rows().find(position);
      const bool is_parked = row != store_.rows().end() && row->second.mark == EventMark::kParked;
      const bool is_retried = row != store_.rows().end() && row->second.mark == EventMark::kRetried;
      if (is_parked) {
        const bool is_retried = event.state == ModelEvent::State::kOpen && event.retried && event.is_written;
        ASSERT_FALSE(is_retried && event.sent_at_most < event.limit())
            << "the retry of event " << position << " is lost";
        event.state = ModelEvent::State::kParked;
        event.retried = false;
        event.sent = event.sent_at_most = row->second.deliveries;
        continue;
      }
      const PartitionProgress& progress = state.head.partitions[partition];
      const auto lagging = state.lagging.find(name);
      const bool has_passed =
          position <= progress.through && (lagging == state.lagging.end() || position <= lagging->second);
      const bool has_count = row != store_.rows().end() && row->second.mark != EventMark::kDone;
      const bool is_done = row != store_.rows().end() ? !has_count : has_passed;
      if (event.state == ModelEvent::State::kDone && event.is_written) {
        ASSERT_TRUE(is_done) << "the settle of event " << position << " is lost";
      }
      if (is_done) ASSERT_EQ(event.state, ModelEvent::State::kDone) << "event " << position << " is passed";
      event.is_written = true;
      event.state = is_done ? ModelEvent::State::kDone : ModelEvent::State::kOpen;
      if (is_done) continue;
      event.retried = is_retried;
      event.uncounted = has_count ? row->second.uncounted : 0;
      // It may have been sent, so it is held by an unknown consumer for a while.
      const bool may_be_sent = position <= std::min(progress.reserved, latest_) || is_retried;
      event.sent_at_most = has_count ? row->second.deliveries : may_be_sent ? 1 : 0;
      ASSERT_GE(event.sent_at_most, event.sent) << "a delivery of event " << position << " is forgotten";
      event.sent = event.sent_at_most;
      ASSERT_FALSE(was_held && is_clean) << "event " << position << " is held";
      event.held = may_be_sent && !is_clean && event.sent_at_most > event.uncounted;
      event.may_be_held = !was_held;
      event.until = now_ + kSettleWithin;
    }
    std::map<size_t, absl::Time> held_until;
    for (const size_t partition : partitions) held_until[partition] = is_clean ? now_ : now_ + kSettleWithin;
    g_->subscription->AddPartitions(held_until, state, latest_, now_);
  }

  void Resume() {
    if (tokens_.empty() || g_->consumers.empty()) return;
    const Token token = tokens_[Pick(static_cast<int>(tokens_.size()))];
    const ConsumerId id = g_->consumers.begin()->first;
    ModelEvent& event = events_.at(token.position);
    const SettleResult result = g_->subscription->Resume(id, token.partition, token.position, token.number, now_);
    if (result != SettleResult::kSettled) return;
    ASSERT_EQ(event.state, ModelEvent::State::kOpen);
    if (event.consumer != 0 && event.consumer != id) return;
    event.held = true;
    event.may_be_held = false;
    event.until = now_ + kSettleWithin;
    event.consumer = id;
    // The consumer may now hold more than it has places for.
    g_->consumers.at(id) += options_.max_unsettled_per_key;
  }

  void Lose() {
    if (events_.empty()) return;
    const Position first = 1;
    const Position last = first + Pick(static_cast<int>(latest_));
    for (auto& [position, event] : events_) {
      if (position > last || event.state == ModelEvent::State::kDone) continue;
      event.state = ModelEvent::State::kLost;
      event.held = false;
    }
    for (Gateway& gateway : gateways_) {
      g_ = &gateway;
      g_->subscription->OnLost(first, last);
      WriteAll();
    }
  }

  // The gateway takes all partitions first.
  void Seek() {
    Gateway* const seeking = g_;
    g_ = g_ == &gateways_[0] ? &gateways_[1] : &gateways_[0];
    while (!g_->subscription->Held().empty()) Take();
    g_ = seeking;
    const Position position = Pick(static_cast<int>(latest_) + 1);
    g_->subscription->Seek(position);
    g_->page.reset();
    g_->lagging_page.reset();
    tokens_.clear();
    g_->unsent.clear();
    g_->acks.clear();
    for (auto& [at, event] : events_) {
      Release(event);
      event.not_before = absl::InfinitePast();
      const bool is_retried = event.retried && event.state == ModelEvent::State::kOpen;
      if (is_retried || event.state == ModelEvent::State::kParked || event.state == ModelEvent::State::kLost) {
        continue;
      }
      event.state = at <= position ? ModelEvent::State::kDone : ModelEvent::State::kOpen;
      event.retried = false;
      event.uncounted = 0;
      event.is_written = true;
      event.sent = event.sent_at_most = 0;
    }
    WriteAll();
  }

  // The consumer of one event of a key gets those that the gateway reads again later, too.
  void Adopt() {
    for (auto& [position, event] : events_) {
      if (!event.held || event.consumer == 0 || event.retried || event.key.empty()) continue;
      if (!IsHere(position, event)) continue;
      for (auto& [at, other] : events_) {
        if (other.key == event.key && other.held && other.consumer == 0 && !other.retried &&
            g_->subscription->IsCurrent(at, other.sent_at_most)) {
          other.consumer = event.consumer;
        }
      }
    }
  }

  // Compares what can be seen.
  void Check() {
    Gateway* const current = g_;
    for (Gateway& gateway : gateways_) {
      g_ = &gateway;
      CheckGateway();
    }
    g_ = current;
  }

  void CheckGateway() {
    for (const auto& [position, parked] : g_->subscription->parked()) {
      ModelEvent& event = events_.at(position);
      if (event.state == ModelEvent::State::kParked) continue;
      ASSERT_EQ(event.state, ModelEvent::State::kOpen) << "event " << position;
      ASSERT_FALSE(event.held) << "event " << position;
      ASSERT_GE(event.sent_at_most, event.limit()) << "event " << position << " is parked too early";
      event.state = ModelEvent::State::kParked;
    }
    for (auto& [position, event] : events_) {
      if (event.state != ModelEvent::State::kParked || !IsHere(position, event)) continue;
      ASSERT_TRUE(g_->subscription->parked().contains(position)) << "event " << position << " is not parked any more";
      event.retried = false;
    }
    Adopt();
    const auto stats = g_->subscription->stats();
    ASSERT_LE(stats.lagging_keys, 2 * options_.max_lagging_keys);
    ASSERT_LE(stats.parked, 2 * options_.max_parked);
    if (stats.parked >= options_.max_parked) has_been_full_ = true;
    for (const auto& [position, event] : events_) {
      if (!event.held || event.consumer == 0 || !IsHere(position, event)) continue;
      ASSERT_TRUE(g_->subscription->IsCurrent(position, event.sent_at_most));
    }
  }

  bool HasOpen() const {
    return std::any_of(events_.begin(), events_.end(),
                       [](const auto& entry) { return entry.second.state == ModelEvent::State::kOpen; });
  }

  std::mt19937_64 random_;
  const SharedSubscription::Options options_;
  Store store_;
  std::array<Gateway, 2> gateways_;
  Gateway* g_ = nullptr;  // which does the current step
  absl::Time now_ = absl::FromUnixSeconds(1000);
  Position latest_ = 0;
  std::map<Position, ModelEvent> events_;
  std::vector<Token> tokens_;
  bool has_restarted_ = false;
  bool has_been_full_ = false;  // no further event could be parked, so one can have been sent too often
};

TEST(SharedSubscriptionModelTest, BehavesAsTheModel) {
  const char* const given = std::getenv("STAMPGATE_SEED");
  const uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  const bool is_long = std::getenv("STAMPGATE_LONG") != nullptr;
  const int histories = given != nullptr ? 1 : is_long ? 20000 : 500;
  for (int i = 0; i < histories; ++i) {
    const uint64_t seed = first + i;
    SCOPED_TRACE(absl::StrCat("STAMPGATE_SEED=", seed));
    SharedSubscription::Options options;
    options.settle_within = kSettleWithin;
    options.max_deliveries = kMaxDeliveries;
    options.max_unsettled_per_key = 1 + seed % 3;
    options.max_window = 4 + seed % 7;
    options.max_lagging_keys = 1 + seed % 4;
    options.min_reserve_step = 1 + seed % 3;
    options.max_reserve_step = 3 + seed % 7;
    if (seed % 2 == 0) options.max_parked = 1 + seed % 3;
    History history(seed, options);
    for (int step = 0; step < 200; ++step) {
      history.Step();
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
    history.Drain();
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace stampgate
