#include "gateway/upstream/lanes.h"

#include <utility>

namespace stampgate {
namespace {

// The number of slots in the lane of key sets.
constexpr int kKeySetSlots = 2;

}  // namespace

UpstreamLanes::UpstreamLanes(const UpstreamOptions& options, UpstreamMetrics& metrics)
    : options_(options), metrics_(metrics) {
  Of(UpstreamLane::kSubmit).slots = options.max_connections;
  Of(UpstreamLane::kQuery).slots = options.max_connections;
  Of(UpstreamLane::kKeySet).slots = kKeySetSlots;
}

bool UpstreamLanes::Enter(UpstreamLane lane, absl::string_view caller, double weight, Ticket& ticket, Turn turn) {
  const MutexLock lock(mutex_);
  Lane& own = Of(lane);
  Caller& of = CallerOf(own, caller);
  of.weight = weight;
  ticket = {lane, ++last_number_, &of};
  // A slot is free only if no waiting call may begin.
  const bool enters = own.begun < own.slots && of.waiting.empty() && MayBegin(lane, of);
  if (enters) {
    ++of.begun;
    ++own.begun;
  } else {
    of.waiting.emplace(ticket.number, std::move(turn));
    ++own.waiting;
  }
  Show(lane);
  return enters;
}

void UpstreamLanes::Leave(const Ticket& ticket) {
  const MutexLock lock(mutex_);
  Lane& lane = Of(ticket.lane);
  if (ticket.caller->waiting.erase(ticket.number) == 0) {
    --ticket.caller->begun;
    --lane.begun;
  } else {
    --lane.waiting;
  }
  Update(ticket.lane, *ticket.caller);
}

UpstreamLanes::Clock::time_point UpstreamLanes::Detach(const Ticket& ticket) {
  const MutexLock lock(mutex_);
  const Clock::time_point now = Clock::now();
  --ticket.caller->begun;
  ++ticket.caller->detached;
  --Of(ticket.lane).begun;
  detached_.insert(now);
  ShowDetached();
  Update(ticket.lane, *ticket.caller);
  return now;
}

void UpstreamLanes::EndDetached(const Ticket& ticket, Clock::time_point detached_at) {
  const MutexLock lock(mutex_);
  --ticket.caller->detached;
  detached_.erase(detached_.find(detached_at));
  ShowDetached();
  Update(ticket.lane, *ticket.caller);
}

UpstreamLanes::Caller& UpstreamLanes::CallerOf(Lane& lane, absl::string_view name) {
  auto found = lane.callers.find(name);
  if (found == lane.callers.end()) found = lane.callers.emplace(name, std::make_unique<Caller>(name)).first;
  return *found->second;
}

bool UpstreamLanes::MayBegin(UpstreamLane lane, const Caller& caller) {
  if (lane != UpstreamLane::kSubmit || static_cast<int>(detached_.size()) < options_.max_detached) return true;
  if (caller.detached == 0) return true;
  double weights = 0;
  for (const auto& [name, each] : Of(lane).callers) weights += each->weight;
  return caller.detached < options_.max_detached * caller.weight / weights;
}

UpstreamLanes::Caller* UpstreamLanes::Next(UpstreamLane lane) {
  // Of equal ones, the one whose first call has waited longest is next.
  const auto order = [](const Caller& caller) {
    return std::pair((caller.begun + 1) / caller.weight, caller.waiting.begin()->first);
  };
  Caller* next = nullptr;
  for (const auto& [name, caller] : Of(lane).callers) {
    if (caller->waiting.empty() || (next != nullptr && order(*next) < order(*caller))) continue;
    if (MayBegin(lane, *caller)) next = caller.get();
  }
  return next;
}

void UpstreamLanes::Update(UpstreamLane lane, const Caller& changed) {
  Lane& own = Of(lane);
  if (changed.begun == 0 && changed.detached == 0 && changed.waiting.empty()) {
    own.callers.erase(own.callers.find(changed.name));
  }
  while (own.waiting > 0 && own.begun < own.slots) {
    Caller* const next = Next(lane);
    if (next == nullptr) break;
    ++next->begun;
    ++own.begun;
    --own.waiting;
    next->waiting.extract(next->waiting.begin()).mapped()();
  }
  Show(lane);
}

void UpstreamLanes::Show(UpstreamLane lane) {
  metrics_[lane].in_flight.Set(Of(lane).begun);
  metrics_[lane].waiting.Set(Of(lane).waiting);
}

void UpstreamLanes::ShowDetached() {
  metrics_.SetDetached(detached_.size(), detached_.empty() ? Clock::time_point() : *detached_.begin());
}

}  // namespace stampgate
