// How far each subscriber has come in the event log.
#ifndef STAMPGATE_GATEWAY_EVENTS_SUBSCRIBER_PLACES_H_
#define STAMPGATE_GATEWAY_EVENTS_SUBSCRIBER_PLACES_H_

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "webhooks/log/event_log.h"

namespace stampgate {

// Thread-safe.
class SubscriberPlaces {
 public:
  // The subscriber has had everything up to `position`, or it was not for it.
  void Set(uint64_t subscriber, Position position) {
    std::lock_guard lock(mutex_);
    places_[subscriber] = position;
  }

  // Who is not there is ignored.
  void Remove(uint64_t subscriber) {
    std::lock_guard lock(mutex_);
    places_.erase(subscriber);
  }

  // Of the subscriber that is furthest behind; nothing if there is none.
  std::optional<Position> Furthest() const {
    std::lock_guard lock(mutex_);
    std::optional<Position> furthest;
    for (const auto& [subscriber, position] : places_) furthest = std::min(furthest.value_or(position), position);
    return furthest;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Position> places_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_SUBSCRIBER_PLACES_H_
