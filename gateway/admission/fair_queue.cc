#include "gateway/admission/fair_queue.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/container/flat_hash_map.h"

namespace stampgate {
namespace {

// How long the queue remembers how often a caller calls.
constexpr absl::Duration kMemory = absl::Seconds(1);

}  // namespace

class FairQueue::Flow {
 public:
  Flow(ClassQueue& queue, absl::string_view caller) : queue(queue), caller(caller) {}

  // Returns how many calls wait, and will arrive within so many seconds, as a mean of the last kMemory.
  double Demand(double seconds, absl::Time now) const {
    const double recent = arrivals * std::exp(-absl::FDivDuration(now - counted_at, kMemory));
    return static_cast<double>(waiting + elsewhere) + recent / absl::ToDoubleSeconds(kMemory) * seconds;
  }

  ClassQueue& queue;
  const std::string caller;
  double weight = 1;
  double time = 0;  // the virtual time of the next call
  size_t waiting = 0;
  size_t elsewhere = 0;  // further calls, which wait elsewhere
  double arrivals = 0;
  absl::Time counted_at = absl::InfinitePast();
};

// The callers of one class.
struct FairQueue::ClassQueue {
  explicit ClassQueue(size_t index) : index(index) {}

  // No flow is earlier than the present.
  double TimeOf(const Flow& flow) const { return std::max(now, flow.time); }

  const size_t index;
  double now = 0;  // the largest virtual time of a call that has continued
  absl::flat_hash_map<std::string, std::unique_ptr<Flow>> flows;
};

FairQueue::FairQueue() {
  for (size_t i = 0; i < queues_.size(); ++i) queues_[i] = std::make_unique<ClassQueue>(i);
}

FairQueue::~FairQueue() = default;

FairQueue::Flow& FairQueue::Arrive(CallClass call_class, absl::string_view caller, double weight, absl::Time now) {
  ClassQueue& queue = *queues_[static_cast<size_t>(call_class)];
  auto found = queue.flows.find(caller);
  if (found == queue.flows.end()) found = queue.flows.emplace(caller, std::make_unique<Flow>(queue, caller)).first;
  Flow& flow = *found->second;
  // The calls by which the flow is ahead remain: their virtual time changes with the weight.
  if (flow.time > queue.now) flow.time = queue.now + (flow.time - queue.now) * flow.weight / weight;
  flow.weight = weight;
  flow.arrivals = flow.arrivals * std::exp(-absl::FDivDuration(now - flow.counted_at, kMemory)) + 1;
  flow.counted_at = now;
  return flow;
}

absl::string_view FairQueue::CallerOf(const Flow& flow) { return flow.caller; }

void FairQueue::Continue(Flow& flow) {
  flow.queue.now = flow.queue.TimeOf(flow);
  flow.time = flow.queue.now + 1 / flow.weight;
}

void FairQueue::Add(Flow& flow, bool elsewhere) { ++(elsewhere ? flow.elsewhere : flow.waiting); }

void FairQueue::Remove(Flow& flow, bool elsewhere) { --(elsewhere ? flow.elsewhere : flow.waiting); }

bool FairQueue::Precedes(const Flow& flow, const Flow& other) {
  if (flow.queue.index != other.queue.index) return flow.queue.index < other.queue.index;
  return flow.queue.TimeOf(flow) < other.queue.TimeOf(other);
}

int64_t FairQueue::Ahead(const Flow& flow, absl::Duration horizon, absl::Time now) const {
  const double seconds = absl::ToDoubleSeconds(horizon);
  auto ahead = static_cast<double>(flow.waiting);
  for (size_t i = 0; i < flow.queue.index; ++i) {
    for (const auto& [name, other] : queues_[i]->flows) ahead += other->Demand(seconds, now);
  }
  const ClassQueue& queue = flow.queue;
  const double own = queue.TimeOf(flow) + static_cast<double>(flow.waiting) / flow.weight;
  for (const auto& [name, other] : queue.flows) {
    if (other.get() == &flow) continue;
    // So many calls of the other caller have an earlier virtual time. A waiting call with the same time is earlier too.
    const double earlier = (own - queue.TimeOf(*other)) * other->weight;
    if (earlier < 0 || (earlier == 0 && other->waiting == 0)) continue;
    const double turns = other->waiting == 0 ? std::ceil(earlier) : std::floor(earlier) + 1;
    ahead += std::min(turns, other->Demand(seconds, now));
  }
  // An estimate beyond this limit would not fit into the number, and no call waits for so many others.
  return static_cast<int64_t>(std::ceil(std::min(ahead - 1e-6, 1e9)));
}

}  // namespace stampgate
