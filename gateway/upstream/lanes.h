// The places of the calls to upstream.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_LANES_H_
#define STAMPGATE_GATEWAY_UPSTREAM_LANES_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "absl/functional/any_invocable.h"
#include "gateway/upstream/options.h"

namespace stampgate {

// Divides the places of each lane among the calls of all event loops (see UpstreamLane). Thread-safe.
class UpstreamLanes {
 public:
  using Clock = std::chrono::steady_clock;
  // Called once when the call has got its place. Must not block, and must not call this object.
  using Turn = absl::AnyInvocable<void()>;

  // A place, or a position in the queue of a lane.
  struct Ticket {
    UpstreamLane lane;
    uint64_t number;
  };

  // `options` must outlive this object.
  explicit UpstreamLanes(const UpstreamOptions& options);

  // Takes a place, and returns true. If there is none, queues the call, and returns false; `turn` is then called later.
  // Sets `ticket` before either.
  bool Enter(UpstreamLane lane, Ticket& ticket, Turn turn);

  // Removes the call from the queue, or frees its place.
  void Leave(const Ticket& ticket);

  // Frees the place of a submit, which now takes a place for detached submits. Returns that place's time.
  Clock::time_point Detach(const Ticket& ticket);

  // Frees a place for detached submits. `detached_at` is a result of Detach.
  void EndDetached(Clock::time_point detached_at);

 private:
  struct Lane {
    int places;
    int begun = 0;
    std::map<uint64_t, Turn> waiting = {};  // by the numbers of the tickets, which is the order of arrival
  };

  // Call these functions with the mutex held.
  Lane& Of(UpstreamLane lane) { return lanes_[static_cast<size_t>(lane)]; }
  bool HasPlace(UpstreamLane lane);
  void BeginWaiting(UpstreamLane lane);
  void Observe(UpstreamLane lane);
  void ObserveDetached();

  const UpstreamOptions& options_;
  std::mutex mutex_;
  uint64_t last_number_ = 0;
  std::array<Lane, 3> lanes_;  // one for each UpstreamLane
  std::multiset<Clock::time_point> detached_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_LANES_H_
