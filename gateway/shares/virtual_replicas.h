// Replicas that share rates in virtual time, for tests.
#ifndef STAMPGATE_GATEWAY_SHARES_VIRTUAL_REPLICAS_H_
#define STAMPGATE_GATEWAY_SHARES_VIRTUAL_REPLICAS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gateway/shares/memory_share_store.h"
#include "gateway/shares/rate_demand.h"
#include "gateway/shares/replica.h"
#include "gateway/shares/share_store.h"

namespace stampgate {

// Time passes in steps of kTick. In each step, the replicas act in random order. Each has a clock of its own, and each
// renewal needs some time to the store and back.
class VirtualReplicas {
 public:
  static constexpr absl::Duration kTick = absl::Milliseconds(5);

  struct Member {
    std::unique_ptr<Replica> replica;
    std::vector<RateDemand> demand;
    bool is_paused = false;   // the process does nothing, and its clock continues
    bool is_cut_off = false;  // from the store
    // How its clock differs from the time of the test.
    absl::Time clock_start = absl::UnixEpoch();
    double clock_speed = 1;
    // The renewal in progress.
    std::optional<ShareRenewal> renewal;
    absl::Time sent;                // by its own clock
    absl::Duration at_store, back;  // when the renewal reaches the store, and when its answer arrives
    std::optional<absl::StatusOr<ShareAnswer>> answer;
    absl::Duration next;  // when the next renewal begins
  };

  explicit VirtualReplicas(unsigned seed) : random_(seed) {}

  // Adds a replica that begins now. Returns its place.
  size_t Add(std::vector<RateDemand> demand, absl::Duration clock_start = absl::ZeroDuration(), double clock_speed = 1);

  // The process dies. A renewal in progress can still reach the store.
  void Kill(size_t place);

  void Pass(
      absl::Duration time, const std::function<void()>& after_each_tick = [] {});

  bool IsAlive(size_t place) const { return members_[place].replica != nullptr; }
  Member& member(size_t place) { return members_[place]; }
  size_t size() const { return members_.size(); }
  absl::Time ClockOf(size_t place) const;
  MemoryShares& store() { return store_; }
  std::mt19937& random() { return random_; }
  absl::Duration now() const { return now_; }

  // What a living replica may use now.
  Millionths Usable(size_t place, const std::string& rate) const;
  // The same, and 0 if its shares are not in force.
  Millionths InForce(size_t place, const std::string& rate) const;
  // The sum of InForce.
  Millionths SumInForce(const std::string& rate) const;

  // The parts of the renewals that are lost on the way to the store and on the way back, and that reach the store only
  // after the replica has given up.
  double loss = 0;
  absl::Duration slowest = absl::Milliseconds(5);

 private:
  void Act(Member& member, absl::Time clock);

  std::mt19937 random_;
  MemoryShares store_;
  absl::Duration now_;
  std::vector<Member> members_;
  std::vector<std::pair<absl::Duration, ShareRenewal>> late_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_VIRTUAL_REPLICAS_H_
