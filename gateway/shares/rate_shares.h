// Renews this replica's shares of upstream's rates on a thread, and ends them in time on another one.
#ifndef STAMPGATE_GATEWAY_SHARES_RATE_SHARES_H_
#define STAMPGATE_GATEWAY_SHARES_RATE_SHARES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/threads/current.h"
#include "base/threads/mutex.h"
#include "gateway/process/periodic_task.h"
#include "gateway/process/steady_now.h"
#include "gateway/shares/held_shares.h"
#include "gateway/shares/rate_demand.h"
#include "gateway/shares/replica.h"
#include "gateway/shares/share_store.h"

namespace stampgate {

// The state of the renewals, for metrics and the log.
struct RateSharesState {
  absl::Status last;  // of the last renewal
  // Whether the granted shares have ended, so that the replica uses its fallback.
  bool uses_fallback = true;
  int replicas = 0;  // that the last answer showed, including this one; 0 before the first answer
};

struct RateSharesOptions {
  // Returns the demand at this replica. Runs on the thread before each renewal.
  std::function<std::vector<RateDemand>()> demand;
  // Makes the process use `shares->Share(rate, now)` of each rate from now on. Called by the constructor, before and
  // after each renewal, and when the shares end while the store does not answer: on two threads, but not at the same
  // time. It must not block.
  std::function<void(const std::shared_ptr<const HeldShares>& shares, absl::Time now)> apply;
  // If set, the thread calls it after each renewal. It must not block.
  std::function<void(const RateSharesState&)> observe;
  // A clock that never goes back. It must continue while the process is paused.
  std::function<absl::Time()> now = SteadyNow;
};

// Thread-safe.
class RateShares {
 public:
  // The first renewal begins at once. The end of the object frees the shares, which the process must then no longer
  // use.
  RateShares(std::unique_ptr<ShareStore> store, RateSharesOptions options);

  RateShares(const RateShares&) = delete;
  RateShares& operator=(const RateShares&) = delete;

  // Returns the shares that `apply` has got last. Never waits for the store.
  std::shared_ptr<const HeldShares> held() const { return held_.Get(); }

  // The time for HeldShares.
  absl::Time now() const { return options_.now(); }

 private:
  // Frees the shares of the replica before it deletes the store. If that fails, the other replicas wait until this one
  // is silent.
  struct Release {
    std::string replica;
    void operator()(ShareStore* store) const;
  };

  void Renew();
  void Apply();
  void AwaitEnd();

  const RateSharesOptions options_;
  const std::unique_ptr<ShareStore, Release> store_;
  Replica replica_;
  Current<const HeldShares> held_;
  bool has_reached_store_ = false;
  Mutex applying_;  // held during each call of `apply`
  // The last members, because their threads use the others.
  PeriodicTask end_task_;
  PeriodicTask task_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_RATE_SHARES_H_
