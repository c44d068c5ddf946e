#include "gateway/subscriptions/shared_subscription.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "webhooks/log/partition.h"

namespace stampgate {
namespace {

// The most events that are read at once: some for each of many consumers, so that a message has more than one of them.
constexpr size_t kMaxRead = 512;

// For how long a reservation is enough.
constexpr absl::Duration kReserveFor = absl::Seconds(1);

// The names of keys that are not from outside.
std::string NameOfOne(Position position) { return absl::StrCat("#", position); }
std::string NameOutOfOrder(Position position) { return absl::StrCat("!", position); }

std::string NameOf(const SharedSubscription::ReadEvent& event) {
  return event.key.empty() ? NameOfOne(event.position) : absl::StrCat("=", event.key);
}

// Returns the keys of the map from `first` to `last`.
template <typename Value>
std::vector<Position> InRange(const std::map<Position, Value>& map, Position first, Position last) {
  std::vector<Position> positions;
  for (auto it = map.lower_bound(first); it != map.end() && it->first <= last; ++it) positions.push_back(it->first);
  return positions;
}

}  // namespace

// --- Partitions.

void SharedSubscription::AddPartitions(const std::map<size_t, absl::Time>& held_until, const SubscriptionState& state,
                                       Position latest, absl::Time now) {
  now_ = now;
  head_.incarnation = state.head.incarnation;
  head_.order = state.head.order;
  for (const auto& [number, until] : held_until) {
    const PartitionProgress& progress = head_.partitions[number] = state.head.partitions[number];
    Partition& partition = partitions_[number];
    partition.number = number;
    partition.read = partition.written_through = progress.through;
    partition.sent_before_start = std::min(progress.reserved, latest);
    partition.safely_reserved = progress.reserved;
    partition.unknown_until = until;
  }
  Load(held_until, state);
}

void SharedSubscription::Load(const std::map<size_t, absl::Time>& added, const SubscriptionState& state) {
  for (const SubscriptionRow& row : state.rows) {
    if (!added.contains(row.partition)) continue;
    Partition& partition = partitions_.at(row.partition);
    changes_.AddStored(row);
    switch (row.mark) {
      case EventMark::kDone:
        partition.done_unread.insert(row.position);
        break;
      case EventMark::kSentAgain:
        partition.sent_again_unread[row.position] = {row.deliveries, row.uncounted};
        break;
      case EventMark::kParked:
        parked_[row.position] = {row.partition, row.deliveries, row.time, row.reason};
        break;
      case EventMark::kRetried: {
        Item& item = AddOutOfOrder(partition, row.position, {row.deliveries, row.uncounted}, row.time);
        item.key->waiting.insert(row.position);
        const bool may_be_sent = item.count.counted() > 0;
        if (may_be_sent && now_ < partition.unknown_until) {
          item.is_of_before = true;
          Hold(row.position, item, partition.unknown_until);
        } else {
          item.reason = may_be_sent ? DeliveryReason::kGatewayRestarted : DeliveryReason::kUnparked;
          Refresh(*item.key);
        }
        break;
      }
    }
  }
  for (const auto& [name, through] : state.lagging) {
    const size_t partition = PartitionOf(name);
    if (!added.contains(partition)) continue;
    Key& key = AddKey(name, partitions_.at(partition));
    key.lag = Lag{through, /*is_reading=*/true, through};
    lagging_.insert(&key);
  }
}

std::set<size_t> SharedSubscription::Held() const {
  std::set<size_t> held;
  for (const auto& [number, partition] : partitions_) held.insert(number);
  return held;
}

void SharedSubscription::StopSending(size_t number) { StopSending(partitions_.at(number)); }

void SharedSubscription::ResumeSending(size_t number) {
  Partition& partition = partitions_.at(number);
  partition.sends = true;
  // The store has reserved no less, whether or not it has the write of StopSending.
  partition.safely_reserved = ProgressOf(partition).reserved;
  for (auto& [name, key] : keys_) {
    if (key.partition == &partition) Refresh(key);
  }
}

void SharedSubscription::StopSending(Partition& partition) {
  partition.sends = false;
  for (auto& [name, key] : keys_) {
    if (key.partition == &partition) TakeOut(key);
  }
  Position& reserved = ProgressOf(partition).reserved;
  const Position sent = std::max(partition.last_sent, partition.sent_before_start);
  if (sent >= reserved) return;
  reserved = sent;
  WriteProgress(partition);
}

bool SharedSubscription::IsIdle(size_t number, absl::Time now) const {
  const Partition& partition = partitions_.at(number);
  if (partition.held > 0) return false;
  if (now >= partition.unknown_until) return true;
  return HasRecovered(partition) && std::none_of(lagging_.begin(), lagging_.end(), [&](const Key* key) {
           return key->partition == &partition && key->lag->is_reading && key->lag->read < partition.sent_before_start;
         });
}

void SharedSubscription::RemovePartition(size_t number) {
  for (const Position position : InRange(unsettled_, 1, std::numeric_limits<Position>::max())) {
    if (unsettled_.at(position).key->partition->number == number) Remove(position);
  }
  std::erase_if(parked_, [number](const auto& entry) { return entry.second.partition == number; });
  std::erase_if(lagging_, [number](const Key* key) { return key->partition->number == number; });
  std::erase_if(touched_, [number](const Key* key) { return key->partition->number == number; });
  std::erase_if(keys_, [number](const auto& entry) { return entry.second.partition->number == number; });
  partitions_.erase(number);
  changes_.Forget(number);
}

// --- What the owner reads.

size_t SharedSubscription::Window() const {
  size_t window = 0;
  for (const auto& [number, partition] : partitions_) {
    if (Reads(partition)) window += partition.blocking.size() + partition.done.size();
  }
  return window;
}

Position SharedSubscription::read() const {
  std::optional<Position> of_all;
  std::optional<Position> of_reading;
  for (const auto& [number, partition] : partitions_) {
    of_all = std::min(of_all.value_or(partition.read), partition.read);
    if (Reads(partition)) of_reading = std::min(of_reading.value_or(partition.read), partition.read);
  }
  return of_reading.value_or(of_all.value_or(0));
}

bool SharedSubscription::HasRecovered() const {
  return std::all_of(partitions_.begin(), partitions_.end(),
                     [](const auto& each) { return HasRecovered(each.second); });
}

size_t SharedSubscription::WantsEvents(Position latest) {
  const Position read = this->read();
  const bool reads =
      std::any_of(partitions_.begin(), partitions_.end(), [](const auto& each) { return Reads(each.second); });
  if (!reads || read >= latest) return 0;
  if (!HasRecovered()) return kMaxRead;
  // Without an event that is not settled, it is not known how old the oldest one is.
  if (dispatcher_.Places(1) == 0 || dispatcher_.HasFree()) {
    const bool is_known = std::any_of(partitions_.begin(), partitions_.end(),
                                      [](const auto& each) { return !each.second.blocking.empty(); });
    return is_known ? 0 : 1;
  }
  while (Window() >= options_.max_window) {
    if (!BeginLag()) return 0;
  }
  // Most of the events that a partition lacks, and others do not, are of the others.
  const bool is_uneven =
      std::any_of(partitions_.begin(), partitions_.end(), [read](const auto& each) { return each.second.read > read; });
  if (is_uneven) return kMaxRead;
  return dispatcher_.Places(kMaxRead);
}

void SharedSubscription::OnRead(Position after, const std::vector<ReadEvent>& events, Position through,
                                absl::Time now) {
  now_ = now;
  for (const ReadEvent& event : events) {
    const std::string name = NameOf(event);
    const auto it = partitions_.find(PartitionOf(name));
    if (it == partitions_.end() || !Reads(it->second)) continue;
    if (it->second.read < after || it->second.read >= event.position) continue;
    Key& key = AddKey(name, it->second);
    if (key.lag.has_value() && key.lag->is_reading) continue;
    if (IsKnown(event.position, key)) continue;
    if (key.lag.has_value() && !HasRoom(key)) {
      key.lag->is_reading = true;
      key.lag->read = event.position - 1;
      continue;
    }
    Add(event, key);
  }
  for (auto& [number, partition] : partitions_) {
    if (!Reads(partition) || partition.read < after) continue;
    partition.read = std::max(partition.read, through);
    Advance(partition, /*must_write=*/false);
  }
  Sweep();
}

std::optional<Position> SharedSubscription::WantsLagging() const {
  std::optional<Position> after;
  for (const Key* key : lagging_) {
    // A read returns many events, so it begins only when many of them can be added.
    if (key->lag->read >= key->partition->read || !HasRoom(*key)) continue;
    if (!key->lag->is_reading || 2 * key->waiting.size() > options_.max_unsettled_per_key) continue;
    if (!after.has_value() || key->lag->read < *after) after = key->lag->read;
  }
  return after;
}

void SharedSubscription::OnLaggingRead(Position after, const std::vector<ReadEvent>& events, Position through,
                                       absl::Time now) {
  now_ = now;
  std::set<Key*> reading;
  for (Key* key : lagging_) {
    const Position end = std::min(through, key->partition->read);
    if (key->lag->is_reading && key->lag->read >= after && key->lag->read < end) reading.insert(key);
  }
  for (const ReadEvent& event : events) {
    const auto found = keys_.find(NameOf(event));
    if (found == keys_.end() || !reading.contains(&found->second)) continue;
    Key& key = found->second;
    if (event.position <= key.lag->read || event.position > key.partition->read) continue;
    if (!IsKnown(event.position, key)) {
      if (!HasRoom(key)) {
        reading.erase(&key);
        continue;
      }
      Add(event, key);
    }
    // A key of one event has no further ones.
    key.lag->read = event.key.empty() ? key.partition->read : event.position;
  }
  for (Key* key : reading) {
    key->lag->read = std::max(key->lag->read, std::min(through, key->partition->read));
    if (key->lag->read >= key->partition->read) key->lag->is_reading = false;
    AdvanceLag(*key);
  }
  Sweep();
}

std::vector<Position> SharedSubscription::OnLost(Position first, Position last) {
  std::vector<Position> lost;
  for (const Position position : InRange(unsettled_, first, last)) {
    Key& key = *unsettled_.at(position).key;
    Remove(position);
    changes_.Erase(position);
    Refresh(key);
    lost.push_back(position);
  }
  for (const Position position : InRange(parked_, first, last)) {
    parked_.erase(position);
    changes_.Erase(position);
    lost.push_back(position);
  }
  for (auto& [number, partition] : partitions_) {
    for (const Position position : InRange(partition.sent_again_unread, first, last)) {
      partition.sent_again_unread.erase(position);
      changes_.Erase(position);
      lost.push_back(position);
    }
    if (first <= partition.read + 1) partition.read = std::max(partition.read, last);
  }
  for (Key* key : std::vector<Key*>(lagging_.begin(), lagging_.end())) {
    Lag& lag = *key->lag;
    if (lag.is_reading && first <= lag.read + 1) lag.read = std::max(lag.read, last);
    if (lag.read >= key->partition->read) lag.is_reading = false;
    AdvanceLag(*key);
  }
  for (auto& [number, partition] : partitions_) Advance(partition, /*must_write=*/true);
  Sweep();
  return lost;
}

// --- Consumers.

SharedSubscription::ConsumerId SharedSubscription::AddConsumer(size_t max_unsettled) {
  const ConsumerId id = dispatcher_.AddConsumer(max_unsettled);
  consumers_[id];
  return id;
}

void SharedSubscription::RemoveConsumer(ConsumerId id, bool gives_back, absl::Time now) {
  now_ = now;
  dispatcher_.SetReceiving(id, false);
  for (Key* key : std::set<Key*>(consumers_.at(id))) {
    if (gives_back) {
      SendAgain(*key, *key->held.begin(), DeliveryReason::kConsumerLeft, DeliveryReason::kConsumerLeft);
    } else {
      TakeOut(*key);
      SetConsumer(*key, 0);
      key->unsure = key->held;
    }
  }
  dispatcher_.RemoveConsumer(id);
  consumers_.erase(id);
  Sweep();
}

SettleResult SharedSubscription::Resume(ConsumerId id, size_t partition, Position position, int64_t number,
                                        absl::Time now) {
  now_ = now;
  const auto of = partitions_.find(partition);
  if (of == partitions_.end()) return SettleResult::kNotHeld;
  if (!HasRecovered(of->second)) return SettleResult::kNotReadYet;
  const auto it = unsettled_.find(position);
  if (it == unsettled_.end()) return SettleUnknown(of->second, position, SettleOutcome::kExtend).result;
  Item& item = it->second;
  Key& key = *item.key;
  if (!item.held || item.count.deliveries != number || (key.consumer != 0 && key.consumer != id)) {
    return SettleResult::kSuperseded;
  }
  BeginTime(position);
  if (key.consumer == 0) SetConsumer(key, id);
  key.unsure.erase(position);
  Refresh(key);
  return SettleResult::kSettled;
}

void SharedSubscription::SetReceiving(ConsumerId id, bool receives) { dispatcher_.SetReceiving(id, receives); }

std::vector<SharedSubscription::Delivery> SharedSubscription::Assign(absl::Time now, size_t max_each, size_t in_a_row) {
  now_ = now;
  std::vector<Delivery> deliveries;
  dispatcher_.BeginRound(max_each, in_a_row);
  while (const std::optional<Dispatcher::Turn> turn = dispatcher_.Next()) deliveries.push_back(Send(*turn));
  dispatcher_.EndRound();
  return deliveries;
}

SharedSubscription::Delivery SharedSubscription::Send(const Dispatcher::Turn& turn) {
  const Position position = turn.position;
  Item& item = unsettled_.at(position);
  Key& key = *item.key;
  TakeOut(key);
  SetConsumer(key, turn.consumer);
  ++item.count.deliveries;
  item.is_unsent = true;
  Delivery delivery;
  delivery.consumer = turn.consumer;
  delivery.partition = key.partition->number;
  delivery.position = position;
  delivery.number = item.count.deliveries;
  delivery.count = item.count.counted();
  delivery.reason = item.reason;
  delivery.out_of_order = key.out_of_order;
  Hold(position, item, now_ + options_.settle_within);
  Partition& partition = *key.partition;
  partition.last_sent = std::max(partition.last_sent, position);
  if (item.count.deliveries == 1) {
    delivery.after_write = Reserve(partition, position);
  } else {
    PutRow(position, item);
    delivery.after_write = changes_.next();
  }
  Refresh(key);
  return delivery;
}

// Reserves positions for first deliveries, before they are needed. Returns the write after which the event at
// `position` can be sent.
uint64_t SharedSubscription::Reserve(Partition& partition, Position position) {
  if (position + reserve_step_ / 2 > ProgressOf(partition).reserved) {
    AdaptReserveStep();
    const bool is_written = changes_.written() >= reserve_write_;
    // The others will soon need it, too.
    for (auto& [number, each] : partitions_) {
      PartitionProgress& progress = ProgressOf(each);
      if (is_written) each.safely_reserved = progress.reserved;
      if (!each.sends) continue;
      progress.reserved = std::max(progress.reserved, position + reserve_step_);
    }
    WriteProgress(partition);
    reserve_write_ = changes_.next();
  }
  return position <= partition.safely_reserved ? 0 : reserve_write_;
}

// Nobody knows whether what was reserved was sent when a gateway is gone, so its consumers may have it until its time
// is over. A small step reserves little that was not sent, and a large one costs few writes.
void SharedSubscription::AdaptReserveStep() {
  const absl::Duration lasted = now_ - std::exchange(reserved_at_, now_);
  if (lasted < kReserveFor / 2) reserve_step_ *= 2;
  if (lasted > kReserveFor * 2) reserve_step_ /= 2;
  reserve_step_ = std::clamp(reserve_step_, options_.min_reserve_step, options_.max_reserve_step);
}

void SharedSubscription::WriteProgress(const Partition& of) {
  for (auto& [number, partition] : partitions_) {
    if (!partition.sends && &partition != &of) continue;  // it is given back when everything of it is written
    partition.written_through = ProgressOf(partition).through;
    changes_.SetProgress(number, ProgressOf(partition));
  }
}

void SharedSubscription::GiveBack(Position position, int64_t number, absl::Time now) {
  now_ = now;
  if (!IsCurrent(position, number)) return;
  Item& item = unsettled_.at(position);
  item.is_unsent = false;
  Release(position, item);
  --item.count.deliveries;
  if (item.count.deliveries > 0) PutRow(position, item);
  Refresh(*item.key);
}

void SharedSubscription::OnSent(Position position, absl::Time now) {
  now_ = now;
  unsettled_.at(position).is_unsent = false;
  BeginTime(position);
}

void SharedSubscription::BeginTime(Position position) {
  Item& item = unsettled_.at(position);
  ends_.erase({item.until, position});
  item.until = now_ + options_.settle_within;
  ends_.insert({item.until, position});
}

bool SharedSubscription::IsWaiting(Position position) const {
  const auto it = unsettled_.find(position);
  return it != unsettled_.end() && !it->second.held;
}

bool SharedSubscription::IsCurrent(Position position, int64_t number) const {
  const auto it = unsettled_.find(position);
  return it != unsettled_.end() && it->second.held && it->second.count.deliveries == number;
}

SharedSubscription::Settled SharedSubscription::Settle(size_t partition, Position position, int64_t number,
                                                       SettleOutcome outcome, absl::Duration delay,
                                                       absl::string_view reason, absl::Time now) {
  now_ = now;
  const auto of = partitions_.find(partition);
  if (of == partitions_.end()) return {SettleResult::kNotHeld};
  if (!HasRecovered(of->second)) return {SettleResult::kNotReadYet};
  const auto it = unsettled_.find(position);
  if (it == unsettled_.end()) return SettleUnknown(of->second, position, outcome);
  Item& item = it->second;
  if (!item.held || item.count.deliveries != number) return {SettleResult::kSuperseded};
  Key& key = *item.key;
  const absl::Time stored = key.out_of_order ? absl::InfinitePast() : item.stored;
  bool must_write = true;
  switch (outcome) {
    case SettleOutcome::kDone:
      Done(position);
      break;
    case SettleOutcome::kPark:
      if (!CanPark()) return {SettleResult::kTooManyParked};
      Park(position, reason);
      Refresh(key);
      break;
    case SettleOutcome::kRetry:
      if (delay > absl::ZeroDuration()) {
        item.not_before = now + delay;
        delays_.insert({item.not_before, position});
      }
      SendAgain(key, position, DeliveryReason::kRetry, DeliveryReason::kAfterAnother);
      must_write = parked_.contains(position);
      break;
    case SettleOutcome::kExtend:
      BeginTime(position);
      must_write = false;
      break;
  }
  Sweep();
  return {SettleResult::kSettled, must_write ? changes_.last() : 0,
          outcome == SettleOutcome::kDone ? stored : absl::InfinitePast()};
}

// The result for an event that is not among those that are known and not settled. The store may not have its settle
// yet.
SharedSubscription::Settled SharedSubscription::SettleUnknown(const Partition& partition, Position position,
                                                              SettleOutcome outcome) const {
  if (parked_.contains(position)) {
    return outcome == SettleOutcome::kPark ? Settled{SettleResult::kAlreadySettled, changes_.last()}
                                           : Settled{SettleResult::kSuperseded};
  }
  const bool is_done = partition.done.contains(position) || partition.done_unread.contains(position);
  if (!is_done && position <= partition.sent_before_start) {
    const bool may_lag = std::any_of(lagging_.begin(), lagging_.end(), [&](const Key* key) {
      return key->partition == &partition && key->lag->is_reading && position > key->lag->read;
    });
    if (may_lag) return {SettleResult::kNotReadYet};
  }
  if (position > partition.read || outcome != SettleOutcome::kDone) return {SettleResult::kSuperseded};
  return {SettleResult::kAlreadySettled, changes_.last()};
}

// --- Time.

absl::Time SharedSubscription::NextTick() const {
  absl::Time next = absl::InfiniteFuture();
  if (!ends_.empty()) next = ends_.begin()->first;
  if (!delays_.empty()) next = std::min(next, delays_.begin()->first);
  return next;
}

void SharedSubscription::Tick(absl::Time now) {
  now_ = now;
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const Position position = ends_.begin()->second;
    const Item& item = unsettled_.at(position);
    const DeliveryReason reason = item.is_of_before ? DeliveryReason::kGatewayRestarted : DeliveryReason::kTimeout;
    SendAgain(*item.key, position, reason, DeliveryReason::kAfterAnother);
  }
  while (!delays_.empty() && delays_.begin()->first <= now) {
    const auto it = unsettled_.find(delays_.begin()->second);
    delays_.erase(delays_.begin());
    if (it != unsettled_.end()) Refresh(*it->second.key);
  }
  Sweep();
}

// --- Administration.

bool SharedSubscription::RetryParked(Position position, absl::Time now) {
  now_ = now;
  const auto it = parked_.find(position);
  if (it == parked_.end()) return false;
  const Count count = {it->second.deliveries, it->second.deliveries};
  Item& item = AddOutOfOrder(partitions_.at(it->second.partition), position, count, now);
  item.reason = DeliveryReason::kUnparked;
  item.key->waiting.insert(position);
  parked_.erase(it);
  PutRow(position, item);
  Refresh(*item.key);
  return true;
}

bool SharedSubscription::SkipParked(Position position) {
  const auto it = parked_.find(position);
  if (it == parked_.end()) return false;
  Partition& partition = partitions_.at(it->second.partition);
  parked_.erase(it);
  KeepDone(partition, position);
  Advance(partition, /*must_write=*/true);
  return true;
}

void SharedSubscription::Seek(Position position) {
  for (const Position at : InRange(unsettled_, 1, std::numeric_limits<Position>::max())) {
    Item& item = unsettled_.at(at);
    if (!item.key->out_of_order) {
      Remove(at);
      changes_.Erase(at);
    } else if (item.held) {
      Release(at, item);
      item.reason = DeliveryReason::kUnparked;
    }
  }
  for (auto& [name, key] : keys_) {
    for (const Position at : key.done) changes_.Erase(at);
    key.done.clear();
    if (key.lag.has_value()) changes_.EraseLagging(name);
    key.lag.reset();
    SetConsumer(key, 0);
    Refresh(key);
  }
  lagging_.clear();
  for (auto& [number, partition] : partitions_) {
    for (const Position at : partition.done_unread) changes_.Erase(at);
    for (const auto& [at, deliveries] : partition.sent_again_unread) changes_.Erase(at);
    partition.done.clear();
    partition.done_unread.clear();
    partition.sent_again_unread.clear();
    sought_from_ = std::max(sought_from_, partition.read);
    ProgressOf(partition) = {.through = position, .reserved = position};
    partition.read = partition.sent_before_start = partition.safely_reserved = partition.last_sent = position;
  }
  ++head_.incarnation;
  changes_.SetHead(head_);
  for (auto& [number, partition] : partitions_) WriteProgress(partition);
  Sweep();
}

SharedSubscription::Stats SharedSubscription::stats() const {
  Stats stats;
  stats.read = stats.through = read();
  for (const auto& [number, partition] : partitions_) {
    stats.through = std::min(stats.through, ProgressOf(partition).through);
  }
  stats.unsettled = unsettled_.size();
  stats.held = ends_.size();
  stats.parked = parked_.size();
  stats.consumers = consumers_.size();
  stats.lagging_keys = lagging_.size();
  stats.partitions = partitions_.size();
  stats.settled_through = stats.through;
  for (const Key* key : lagging_) stats.settled_through = std::min(stats.settled_through, key->lag->through);
  if (!parked_.empty()) stats.settled_through = std::min(stats.settled_through, parked_.begin()->first - 1);
  if (!unsettled_.empty()) stats.settled_through = std::min(stats.settled_through, unsettled_.begin()->first - 1);
  const auto in_order = std::find_if(unsettled_.begin(), unsettled_.end(),
                                     [](const auto& each) { return !each.second.key->out_of_order; });
  if (in_order != unsettled_.end()) stats.oldest = in_order->second.stored;
  if (!returned_.empty()) {
    const absl::Time returned = returned_.begin()->first;
    stats.oldest = std::min(stats.oldest.value_or(returned), returned);
  }
  return stats;
}

void SharedSubscription::Close() {
  for (auto& [number, partition] : partitions_) StopSending(partition);
}

// --- Events.

SharedSubscription::Key& SharedSubscription::AddKey(const std::string& name, Partition& partition) {
  Key& key = keys_[name];
  key.name = name;
  key.partition = &partition;
  touched_.insert(&key);
  return key;
}

// Adds an event that was parked.
SharedSubscription::Item& SharedSubscription::AddOutOfOrder(Partition& partition, Position position, const Count& count,
                                                            absl::Time returned) {
  Key& key = AddKey(NameOutOfOrder(position), partition);
  key.out_of_order = true;
  Item& item = unsettled_[position];
  item.key = &key;
  item.count = count;
  item.stored = returned;
  returned_.insert({returned, position});
  return item;
}

// Whether a lagging key may have one more known event.
bool SharedSubscription::HasRoom(const Key& key) const { return key.waiting.size() + key.held.size() < MaxKnown(); }

// Whether the event that was read need not be added: it is known already, settled or parked.
bool SharedSubscription::IsKnown(Position position, Key& key) {
  if (unsettled_.contains(position) || parked_.contains(position) || key.done.contains(position)) return true;
  if (key.partition->done_unread.erase(position) == 0) return false;
  key.done.insert(position);
  if (!key.lag.has_value()) key.partition->done[position] = &key;
  return true;
}

void SharedSubscription::Add(const ReadEvent& event, Key& key) {
  const Position position = event.position;
  Partition& partition = *key.partition;
  Item& item = unsettled_[position];
  item.key = &key;
  item.stored = event.stored;
  if (const auto it = partition.sent_again_unread.find(position); it != partition.sent_again_unread.end()) {
    item.count = it->second;
    partition.sent_again_unread.erase(it);
  } else if (position <= partition.sent_before_start) {
    item.count.deliveries = 1;
  }
  if (!key.lag.has_value()) partition.blocking.insert(position);
  const bool may_be_sent = item.count.counted() > 0;
  if (may_be_sent) {
    item.reason = DeliveryReason::kGatewayRestarted;
  } else if (position <= sought_from_) {
    item.reason = DeliveryReason::kSeek;
  }
  // If an earlier event was taken from its consumer since the start, so was this one.
  const bool is_held = may_be_sent && now_ < partition.unknown_until && !key.was_sent_again;
  key.waiting.insert(position);
  if (is_held) {
    item.is_of_before = true;
    Hold(position, item, partition.unknown_until);
  }
  Refresh(key);
}

// Takes the event out of everything.
void SharedSubscription::Remove(Position position) {
  const auto it = unsettled_.find(position);
  Key& key = *it->second.key;
  it->second.is_unsent = false;  // nothing is left to count
  if (it->second.held) Release(position, it->second);
  TakeOut(key);
  key.waiting.erase(position);
  key.partition->blocking.erase(position);
  if (key.out_of_order) returned_.erase({it->second.stored, position});
  unsettled_.erase(it);
  touched_.insert(&key);
}

void SharedSubscription::Done(Position position) {
  Key& key = *unsettled_.at(position).key;
  Remove(position);
  if (key.out_of_order) {
    KeepDone(*key.partition, position);
    Advance(*key.partition, /*must_write=*/true);
    return;
  }
  key.done.insert(position);
  if (!key.lag.has_value()) key.partition->done[position] = &key;
  changes_.Put({.position = position, .partition = key.partition->number, .mark = EventMark::kDone});
  AfterSettle(key);
  Refresh(key);
}

void SharedSubscription::Park(Position position, absl::string_view reason) {
  const Item& item = unsettled_.at(position);
  Key& key = *item.key;
  Parked& parked = parked_[position];
  parked = {key.partition->number, item.count.deliveries, now_, std::string(reason)};
  newly_parked_.push_back(position);
  changes_.Put({.position = position,
                .partition = parked.partition,
                .mark = EventMark::kParked,
                .deliveries = parked.deliveries,
                .time = parked.time,
                .reason = parked.reason});
  Remove(position);
  AfterSettle(key);
}

void SharedSubscription::AfterSettle(Key& key) {
  if (key.lag.has_value()) AdvanceLag(key);
  Advance(*key.partition, /*must_write=*/true);
}

// Remembers that an event is done whose key is not known, as long as it could be read again.
void SharedSubscription::KeepDone(Partition& partition, Position position) {
  partition.done_unread.insert(position);
  changes_.Put({.position = position, .partition = partition.number, .mark = EventMark::kDone});
}

void SharedSubscription::PutRow(Position position, const Item& item) {
  SubscriptionRow row = {.position = position,
                         .partition = item.key->partition->number,
                         .mark = EventMark::kSentAgain,
                         .deliveries = item.count.deliveries,
                         .uncounted = item.count.uncounted};
  if (item.key->out_of_order) {
    row.mark = EventMark::kRetried;
    row.time = item.stored;
  }
  changes_.Put(std::move(row));
}

// Sends all held events of the key again from `from` on.
void SharedSubscription::SendAgain(Key& key, Position from, DeliveryReason reason, DeliveryReason of_others) {
  key.was_sent_again = true;
  const std::vector<Position> again(key.held.lower_bound(from), key.held.end());
  for (const Position position : again) {
    Item& item = unsettled_.at(position);
    if (!item.is_unsent) item.reason = position == from ? reason : of_others;
    Release(position, item);
  }
  Refresh(key);
}

void SharedSubscription::Hold(Position position, Item& item, absl::Time until) {
  Key& key = *item.key;
  key.waiting.erase(position);
  key.held.insert(position);
  if (item.is_of_before) key.unsure.insert(position);
  if (item.count.deliveries > 1) ++key.held_again;
  ++key.partition->held;
  if (key.consumer != 0) dispatcher_.AddHeld(key.consumer, 1);
  item.held = true;
  item.until = until;
  ends_.insert({until, position});
}

// Makes a held event wait. If it was not sent, its delivery does not count.
void SharedSubscription::Release(Position position, Item& item) {
  Key& key = *item.key;
  TakeOut(key);
  key.held.erase(position);
  key.unsure.erase(position);
  key.waiting.insert(position);
  if (item.count.deliveries > 1) --key.held_again;
  --key.partition->held;
  if (key.consumer != 0) dispatcher_.AddHeld(key.consumer, -1);
  if (key.held.empty()) SetConsumer(key, 0);
  ends_.erase({item.until, position});
  item.held = false;
  item.is_of_before = false;
  if (std::exchange(item.is_unsent, false)) {
    ++item.count.uncounted;
    PutRow(position, item);
  }
}

// The consumer of the key's held events, which are counted for it.
void SharedSubscription::SetConsumer(Key& key, ConsumerId id) {
  if (key.consumer == id) return;
  const auto held = static_cast<int64_t>(key.held.size());
  if (key.consumer != 0) {
    consumers_.at(key.consumer).erase(&key);
    dispatcher_.AddHeld(key.consumer, -held);
  }
  key.consumer = id;
  if (id != 0) {
    consumers_.at(id).insert(&key);
    dispatcher_.AddHeld(id, held);
  }
}

// Offers no event of the key any more.
void SharedSubscription::TakeOut(Key& key) {
  if (key.ready != 0) dispatcher_.Withdraw(std::exchange(key.ready, 0), key.consumer);
}

// Finds out whether the key has an event to send now.
void SharedSubscription::Refresh(Key& key) {
  TakeOut(key);
  touched_.insert(&key);
  while (!key.waiting.empty()) {
    const Position first = *key.waiting.begin();
    const Item& item = unsettled_.at(first);
    const int64_t count = item.count.counted();
    if (count >= options_.max_deliveries && CanPark()) {
      Park(first, absl::StrCat("max_deliveries: it was delivered ", count, " times"));
      continue;
    }
    if (item.not_before > now_ || !key.partition->sends) return;
    const bool follows_held = key.consumer != 0 && key.unsure.empty() &&
                              key.held.size() < options_.max_unsettled_per_key && item.count.deliveries == 0 &&
                              key.held_again == 0;
    if (!key.held.empty() && !follows_held) return;
    key.ready = first;
    dispatcher_.Offer(first, key.held.empty() ? 0 : key.consumer);
    return;
  }
}

// --- Positions.

// Moves the partition's position past what is settled. If not `must_write`, the change may be written later: after a
// start, the events are only read again.
void SharedSubscription::Advance(Partition& partition, bool must_write) {
  PartitionProgress& progress = ProgressOf(partition);
  const Position through = partition.blocking.empty() ? partition.read : *partition.blocking.begin() - 1;
  if (through > progress.through) {
    progress.through = through;
    while (!partition.done.empty() && partition.done.begin()->first <= through) {
      const auto [position, key] = *partition.done.begin();
      key->done.erase(position);
      touched_.insert(key);
      partition.done.erase(partition.done.begin());
      changes_.Erase(position);
      must_write = true;
    }
  }
  if (lagging_.empty()) {
    std::set<Position>& done_unread = partition.done_unread;
    while (!done_unread.empty() && *done_unread.begin() <= progress.through) {
      changes_.Erase(*done_unread.begin());
      done_unread.erase(done_unread.begin());
      must_write = true;
    }
  }
  if (must_write || progress.through - partition.written_through >= options_.max_reserve_step) WriteProgress(partition);
}

// Moves the position of a lagging key past what is settled, at most to its partition's, which counts for the later
// events.
void SharedSubscription::AdvanceLag(Key& key) {
  Lag& lag = *key.lag;
  const Position head = ProgressOf(*key.partition).through;
  Position through = std::min(lag.is_reading ? lag.read : key.partition->read, head);
  for (const std::set<Position>* positions : {&key.held, &key.waiting}) {
    if (!positions->empty()) through = std::min(through, *positions->begin() - 1);
  }
  if (through > lag.through) {
    lag.through = through;
    changes_.PutLagging(key.name, through);
    while (!key.done.empty() && *key.done.begin() <= through) {
      changes_.Erase(*key.done.begin());
      key.done.erase(key.done.begin());
    }
  }
  if (!lag.is_reading && lag.through >= head) EndLag(key);
}

// Makes the key of the first event lag that a partition waits for. Returns false if too many keys lag.
bool SharedSubscription::BeginLag() {
  Position first = std::numeric_limits<Position>::max();
  for (const auto& [number, each] : partitions_) {
    if (Reads(each) && !each.blocking.empty()) first = std::min(first, *each.blocking.begin());
  }
  if (first == std::numeric_limits<Position>::max() || lagging_.size() >= options_.max_lagging_keys) return false;
  Key& key = *unsettled_.at(first).key;
  Partition& partition = *key.partition;
  for (const Position position : key.done) partition.done.erase(position);
  for (const Position position : key.held) partition.blocking.erase(position);
  for (const Position position : key.waiting) partition.blocking.erase(position);
  const Position through = ProgressOf(partition).through;
  key.lag = Lag{.through = through};
  lagging_.insert(&key);
  changes_.PutLagging(key.name, through);
  // Forgets events that the key cannot have as known ones: they are read again.
  while (key.waiting.size() + key.held.size() > MaxKnown() && !key.waiting.empty()) {
    const Position last = *key.waiting.rbegin();
    if (unsettled_.at(last).count.deliveries > 0) break;
    Remove(last);
    key.lag->is_reading = true;
    key.lag->read = last - 1;
  }
  Refresh(key);
  Advance(partition, /*must_write=*/true);
  AdvanceLag(key);
  return true;
}

// The key's events that are not settled are all in the window.
void SharedSubscription::EndLag(Key& key) {
  key.lag.reset();
  lagging_.erase(&key);
  changes_.EraseLagging(key.name);
  Partition& partition = *key.partition;
  partition.blocking.insert(key.held.begin(), key.held.end());
  partition.blocking.insert(key.waiting.begin(), key.waiting.end());
  for (const Position position : key.done) partition.done[position] = &key;
  touched_.insert(&key);
}

// Forgets the keys that are superfluous.
void SharedSubscription::Sweep() {
  for (Key* key : touched_) {
    if (!key->waiting.empty() || !key->held.empty() || !key->done.empty() || key->lag.has_value()) continue;
    keys_.erase(std::string(key->name));
  }
  touched_.clear();
}

}  // namespace stampgate
