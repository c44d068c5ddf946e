// The slots of the calls to upstream.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_LANES_H_
#define STAMPGATE_GATEWAY_UPSTREAM_LANES_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"
#include "gateway/upstream/options.h"
#include "gateway/upstream/upstream_metrics.h"

namespace stampgate {

// Divides the slots of each lane among the calls of all event loops (see UpstreamLane and UpstreamOptions).
// Thread-safe.
class UpstreamLanes {
  struct Caller;

 public:
  using Clock = std::chrono::steady_clock;
  // Called once when the call has got its slot. Must not block, and must not call this object.
  using Turn = absl::AnyInvocable<void()>;

  // A slot, or a position in the queue of a lane.
  struct Ticket {
    UpstreamLane lane;
    uint64_t number;
    Caller* caller;
  };

  // `options` and `metrics` must outlive this object.
  UpstreamLanes(const UpstreamOptions& options, UpstreamMetrics& metrics);

  // Takes a slot for a call of `caller`, whose weight may change with each call, and returns true. If there is none,
  // queues the call, and returns false; `turn` is then called later. Sets `ticket` before either.
  bool Enter(UpstreamLane lane, absl::string_view caller, double weight, Ticket& ticket, Turn turn);

  // Removes the call from the queue, or frees its slot.
  void Leave(const Ticket& ticket);

  // Frees the slot of a submit, which now takes a slot for detached submits. Returns that slot's time.
  Clock::time_point Detach(const Ticket& ticket);

  // Frees the slot for detached submits that Detach has taken for `ticket`. `detached_at` is the result of Detach.
  void EndDetached(const Ticket& ticket, Clock::time_point detached_at);

 private:
  // A caller with calls in a lane, or with detached submits.
  struct Caller {
    explicit Caller(absl::string_view name) : name(name) {}

    const std::string name;
    double weight = 1;
    int begun = 0;
    int detached = 0;
    std::map<uint64_t, Turn> waiting = {};  // by the numbers of the tickets, which is the order of arrival
  };
  struct Lane {
    int slots = 0;
    int begun = 0;
    int waiting = 0;
    absl::flat_hash_map<std::string, std::unique_ptr<Caller>> callers = {};
  };

  Lane& Of(UpstreamLane lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return lanes_[static_cast<size_t>(lane)]; }
  Caller& CallerOf(Lane& lane, absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a further call of the caller may begin, if a slot is free.
  bool MayBegin(UpstreamLane lane, const Caller& caller) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the caller whose call is next; null if none may begin.
  Caller* Next(UpstreamLane lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins what can begin after a change of the caller, and forgets it if it has nothing any more.
  void Update(UpstreamLane lane, const Caller& changed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Show(UpstreamLane lane) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ShowDetached() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const UpstreamOptions& options_;
  UpstreamMetrics& metrics_;
  Mutex mutex_;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::array<Lane, 3> lanes_ ABSL_GUARDED_BY(mutex_);  // one for each UpstreamLane
  std::multiset<Clock::time_point> detached_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_LANES_H_
