#include "gateway/upstream/lanes.h"

#include <utility>

namespace stampgate {
namespace {

// The number of places in the lane of key sets.
constexpr int kKeySetPlaces = 2;

}  // namespace

UpstreamLanes::UpstreamLanes(const UpstreamOptions& options)
    : options_(options), lanes_({Lane{options.max_connections}, Lane{options.max_connections}, Lane{kKeySetPlaces}}) {}

bool UpstreamLanes::Enter(UpstreamLane lane, Ticket& ticket, Turn turn) {
  const std::lock_guard lock(mutex_);
  ticket = {lane, ++last_number_};
  Lane& own = Of(lane);
  const bool enters = own.waiting.empty() && HasPlace(lane);
  if (enters) {
    ++own.begun;
  } else {
    own.waiting.emplace(ticket.number, std::move(turn));
  }
  Observe(lane);
  return enters;
}

void UpstreamLanes::Leave(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  Lane& lane = Of(ticket.lane);
  if (lane.waiting.erase(ticket.number) == 0) {
    --lane.begun;
    BeginWaiting(ticket.lane);
  }
  Observe(ticket.lane);
}

UpstreamLanes::Clock::time_point UpstreamLanes::Detach(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  --Of(ticket.lane).begun;
  detached_.insert(now);
  ObserveDetached();
  BeginWaiting(ticket.lane);
  Observe(ticket.lane);
  return now;
}

void UpstreamLanes::EndDetached(Clock::time_point detached_at) {
  const std::lock_guard lock(mutex_);
  detached_.erase(detached_.find(detached_at));
  ObserveDetached();
  BeginWaiting(UpstreamLane::kSubmit);
  Observe(UpstreamLane::kSubmit);
}

bool UpstreamLanes::HasPlace(UpstreamLane lane) {
  if (lane == UpstreamLane::kSubmit && static_cast<int>(detached_.size()) >= options_.max_detached) return false;
  return Of(lane).begun < Of(lane).places;
}

void UpstreamLanes::BeginWaiting(UpstreamLane lane) {
  Lane& own = Of(lane);
  while (!own.waiting.empty() && HasPlace(lane)) {
    ++own.begun;
    own.waiting.extract(own.waiting.begin()).mapped()();
  }
}

void UpstreamLanes::Observe(UpstreamLane lane) {
  if (options_.observe_lane) options_.observe_lane(lane, Of(lane).begun, static_cast<int>(Of(lane).waiting.size()));
}

void UpstreamLanes::ObserveDetached() {
  if (!options_.observe_detached) return;
  options_.observe_detached(static_cast<int>(detached_.size()),
                            detached_.empty() ? Clock::time_point() : *detached_.begin());
}

}  // namespace stampgate
