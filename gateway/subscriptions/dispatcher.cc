#include "gateway/subscriptions/dispatcher.h"

#include <algorithm>

namespace stampgate {

Dispatcher::ConsumerId Dispatcher::AddConsumer(size_t max_held) {
  const ConsumerId id = ++last_consumer_;
  consumers_[id].max_held = max_held;
  return id;
}

void Dispatcher::RemoveConsumer(ConsumerId id) {
  SetReceiving(id, false);
  consumers_.erase(id);
}

void Dispatcher::SetReceiving(ConsumerId id, bool receives) {
  consumers_.at(id).receives = receives;
  Rank(id);
}

void Dispatcher::AddHeld(ConsumerId id, int64_t count) {
  consumers_.at(id).held += count;
  Rank(id);
}

void Dispatcher::Offer(Position position, ConsumerId to) {
  if (to == 0) {
    free_.insert(position);
    return;
  }
  consumers_.at(to).own.insert(position);
  Rank(to);
}

void Dispatcher::Withdraw(Position position, ConsumerId to) {
  if (free_.erase(position) != 0) return;
  consumers_.at(to).own.erase(position);
  Rank(to);
}

size_t Dispatcher::Places(size_t most) const {
  size_t places = 0;
  for (auto hunger = hungry_.begin(); hunger != hungry_.end() && places < most; ++hunger) places += hunger->places;
  return std::min(places, most);
}

void Dispatcher::BeginRound(size_t max_each, size_t in_a_row) {
  max_each_ = max_each;
  in_a_row_ = in_a_row;
  given_ = 0;
}

std::optional<Dispatcher::Turn> Dispatcher::Next() {
  const auto can_receive = [this](const Consumer& consumer) {
    return consumer.hunger.has_value() && (!free_.empty() || !consumer.own.empty());
  };
  if (given_ % in_a_row_ == 0 || !can_receive(consumers_.at(latest_))) {
    if (!free_.empty() && !hungry_.empty()) {
      latest_ = hungry_.begin()->consumer;
    } else if (!hungry_for_own_.empty()) {
      latest_ = *hungry_for_own_.begin();
    } else {
      return std::nullopt;
    }
  }
  ++given_;
  Consumer& consumer = consumers_.at(latest_);
  consumer.latest_turn = ++turns_;
  if (consumer.in_round == 0) served_.push_back(latest_);
  if (++consumer.in_round >= max_each_) consumer.receives = false;
  Rank(latest_);
  const bool takes_own = !consumer.own.empty() && (free_.empty() || *consumer.own.begin() < *free_.begin());
  return Turn{latest_, takes_own ? *consumer.own.begin() : *free_.begin()};
}

void Dispatcher::EndRound() {
  for (const ConsumerId id : served_) {
    consumers_.at(id).in_round = 0;
    SetReceiving(id, false);
  }
  served_.clear();
}

void Dispatcher::Rank(ConsumerId id) {
  Consumer& consumer = consumers_.at(id);
  std::optional<Hunger> hunger;
  if (consumer.receives && consumer.held < consumer.max_held) {
    hunger = Hunger{consumer.max_held - consumer.held, consumer.latest_turn, id};
  }
  if (hunger != consumer.hunger) {
    if (consumer.hunger.has_value()) hungry_.erase(*consumer.hunger);
    if (hunger.has_value()) hungry_.insert(*hunger);
    consumer.hunger = hunger;
  }
  const bool for_own = hunger.has_value() && !consumer.own.empty();
  if (for_own == consumer.is_ranked_for_own) return;
  consumer.is_ranked_for_own = for_own;
  if (for_own) {
    hungry_for_own_.insert(id);
  } else {
    hungry_for_own_.erase(id);
  }
}

}  // namespace stampgate
