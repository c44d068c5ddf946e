#include "gateway/subscriptions/calls/departures.h"

#include <utility>

#include "gateway/callers/peer_registry.h"

namespace stampgate {

void Departures::Add(std::optional<uint64_t> connection, OnKnown on_known) {
  if (connection.has_value() && StateOfConnection(*connection) == ConnectionState::kOpen) {
    const MutexLock lock(mutex_);
    if (!is_closed_) {
      waiting_.push_back({*connection, now_() + kWait, std::move(on_known)});
      return;
    }
  }
  on_known(/*is_cancelled=*/false);
}

void Departures::Look() {
  std::deque<Departure> due;
  {
    const MutexLock lock(mutex_);
    const Clock::time_point now = now_();
    while (!waiting_.empty() && waiting_.front().at <= now) {
      due.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }
  for (Departure& departure : due) {
    departure.on_known(StateOfConnection(departure.connection) != ConnectionState::kClosed);
  }
}

void Departures::Close() {
  std::deque<Departure> waiting;
  {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    waiting.swap(waiting_);
  }
  for (Departure& departure : waiting) departure.on_known(/*is_cancelled=*/false);
}

}  // namespace stampgate
