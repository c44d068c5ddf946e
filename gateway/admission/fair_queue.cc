#include "gateway/admission/fair_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "absl/algorithm/container.h"

namespace stampgate {
namespace {

// How long the queue remembers how often a caller calls.
constexpr absl::Duration kMemory = absl::Seconds(1);

}  // namespace

class FairQueue::Flow {
 public:
  Flow(Lane& lane, absl::string_view caller) : lane(lane), caller(caller) {}

  // Returns how many calls arrive in a second, as a mean of the last kMemory.
  double ArrivalsPerSecond(absl::Time now) const {
    return arrivals * std::exp(-absl::FDivDuration(now - counted_at, kMemory)) / absl::ToDoubleSeconds(kMemory);
  }

  Lane& lane;
  const std::string caller;
  double weight = 1;
  double time = 0;     // the virtual time of the first waiting call or, if none waits, of the next one
  uint64_t order = 0;  // of flows with the same virtual time, the one that began to wait first is next
  std::deque<CallId> calls;
  double arrivals = 0;
  absl::Time counted_at = absl::InfinitePast();
};

// The callers of one class.
struct FairQueue::Lane {
  using Key = std::tuple<double, uint64_t, Flow*>;

  explicit Lane(size_t index) : index(index) {}

  static Key KeyOf(Flow& flow) { return {flow.time, flow.order, &flow}; }

  // A flow without waiting calls cannot be earlier than the present.
  double TimeOf(const Flow& flow) const { return flow.calls.empty() ? std::max(now, flow.time) : flow.time; }

  // The calls by which the flow is ahead remain: their virtual time changes with the weight.
  void SetWeight(Flow& flow, double weight) {
    const bool waits = !flow.calls.empty();
    if (waits) waiting.erase(KeyOf(flow));
    if (flow.time > now) flow.time = now + (flow.time - now) * flow.weight / weight;
    flow.weight = weight;
    if (waits) waiting.insert(KeyOf(flow));
  }

  // The flow begins to wait with its first waiting call.
  void Wait(Flow& flow) {
    flow.order = ++last_order;
    waiting.insert(KeyOf(flow));
  }

  void Serve(Flow& flow) {
    now = std::max(now, flow.time);
    flow.time = flow.time + 1 / flow.weight;
  }

  const size_t index;
  double now = 0;  // the virtual time of the call that continued last
  absl::flat_hash_map<std::string, std::unique_ptr<Flow>> flows;
  absl::btree_set<Key> waiting;  // the flows with waiting calls, by their virtual time
  uint64_t last_order = 0;
  size_t size = 0;
};

FairQueue::FairQueue() {
  for (size_t i = 0; i < lanes_.size(); ++i) lanes_[i] = std::make_unique<Lane>(i);
}

FairQueue::~FairQueue() = default;

FairQueue::Flow& FairQueue::Arrive(CallClass call_class, absl::string_view caller, double weight, absl::Time now) {
  Lane& lane = *lanes_[static_cast<size_t>(call_class)];
  auto found = lane.flows.find(caller);
  if (found == lane.flows.end()) found = lane.flows.emplace(caller, std::make_unique<Flow>(lane, caller)).first;
  Flow& flow = *found->second;
  if (flow.weight != weight) lane.SetWeight(flow, weight);
  flow.arrivals = flow.arrivals * std::exp(-absl::FDivDuration(now - flow.counted_at, kMemory)) + 1;
  flow.counted_at = now;
  return flow;
}

absl::string_view FairQueue::CallerOf(const Flow& flow) { return flow.caller; }

void FairQueue::Pass(Flow& flow) {
  flow.time = flow.lane.TimeOf(flow);
  flow.lane.Serve(flow);
}

void FairQueue::Add(Flow& flow, CallId id) {
  Lane& lane = flow.lane;
  if (flow.calls.empty()) {
    flow.time = lane.TimeOf(flow);
    lane.Wait(flow);
  }
  flow.calls.push_back(id);
  ++lane.size;
  ++size_;
}

void FairQueue::Remove(Flow& flow, CallId id) {
  const auto found = absl::c_find(flow.calls, id);
  if (found == flow.calls.end()) return;
  flow.calls.erase(found);
  if (flow.calls.empty()) flow.lane.waiting.erase(Lane::KeyOf(flow));
  --flow.lane.size;
  --size_;
}

std::optional<FairQueue::CallId> FairQueue::TakeNext(absl::FunctionRef<bool(CallId)> may_go) {
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    for (const Lane::Key& key : lane->waiting) {
      Flow* const flow = std::get<Flow*>(key);
      const auto found = absl::c_find_if(flow->calls, may_go);
      if (found == flow->calls.end()) continue;
      const CallId id = *found;
      lane->waiting.erase(Lane::KeyOf(*flow));
      flow->calls.erase(found);
      lane->Serve(*flow);
      if (!flow->calls.empty()) lane->Wait(*flow);
      --lane->size;
      --size_;
      return id;
    }
  }
  return std::nullopt;
}

int64_t FairQueue::Ahead(const Flow& flow, absl::Duration horizon, absl::Time now) const {
  const double seconds = absl::ToDoubleSeconds(horizon);
  double ahead = static_cast<double>(flow.calls.size());
  for (size_t i = 0; i < flow.lane.index; ++i) {
    for (const auto& [name, other] : lanes_[i]->flows) {
      ahead += static_cast<double>(other->calls.size()) + other->ArrivalsPerSecond(now) * seconds;
    }
  }
  const Lane& lane = flow.lane;
  const double own = lane.TimeOf(flow) + static_cast<double>(flow.calls.size()) / flow.weight;
  for (const auto& [name, other] : lane.flows) {
    if (other.get() == &flow) continue;
    // So many calls of the other caller have an earlier virtual time. A waiting call with the same time is earlier too.
    const double earlier = (own - lane.TimeOf(*other)) * other->weight;
    if (earlier < 0 || (earlier == 0 && other->calls.empty())) continue;
    const double turns = other->calls.empty() ? std::ceil(earlier) : std::floor(earlier) + 1;
    ahead += std::min(turns, static_cast<double>(other->calls.size()) + other->ArrivalsPerSecond(now) * seconds);
  }
  // An estimate beyond this limit would not fit into the number, and no call waits for so many others.
  return static_cast<int64_t>(std::ceil(std::min(ahead - 1e-6, 1e9)));
}

size_t FairQueue::size(CallClass call_class) const { return lanes_[static_cast<size_t>(call_class)]->size; }

}  // namespace stampgate
