// Takes this replica's calls of quotas from the store, on a thread of its own.
#ifndef STAMPGATE_GATEWAY_SHARES_RATE_QUOTAS_H_
#define STAMPGATE_GATEWAY_SHARES_RATE_QUOTAS_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/threads/wait_clock.h"
#include "gateway/process/periodic_task.h"
#include "gateway/shares/quota_blocks.h"
#include "gateway/shares/quota_store.h"

namespace stampgate {

struct RateQuotasOptions {
  // Returns the use of each quota at this replica. Runs on the thread, and at the end of the object.
  std::function<std::vector<QuotaDemand>()> demand;
  // Makes the process begin only the calls that `quotas` permits, as HeldQuotas::Left states, from now on. Called after
  // each use of the store on the thread, and at the end of the object with quotas that permit nothing. It must not
  // block.
  std::function<void(const std::shared_ptr<const HeldQuotas>& quotas)> apply;
  // If set, the thread calls it with the result of each use of the store. It must not block.
  std::function<void(const absl::Status&)> observe;
  // A clock that never goes back. It must continue while the process is paused.
  std::function<absl::Time()> now;
  absl::Duration interval = absl::Milliseconds(200);
};

// Thread-safe.
class RateQuotas {
 public:
  // The first blocks are taken at once. The end of the object gives back what is left of the blocks.
  RateQuotas(std::unique_ptr<QuotaStore> store, RateQuotasOptions options);

  RateQuotas(const RateQuotas&) = delete;
  RateQuotas& operator=(const RateQuotas&) = delete;

  // Call this when a call begins to wait for a quota: the thread then takes calls at once.
  void Wake() { task_.Wake(); }

  // Returns how long the thread has waited for the store so far; zero if it does not wait.
  absl::Duration WriteUnderWay() const { return wait_.under_way(); }

 private:
  // Gives back the rest of the blocks after the thread has ended.
  struct End {
    RateQuotasOptions options;
    std::unique_ptr<QuotaStore> store;
    QuotaBlocks blocks;
    ~End() {
      options.apply(std::make_shared<HeldQuotas>());
      blocks.Return(options.demand(), *store);
    }
  };

  void Refill();

  End end_;
  WaitClock wait_;
  PeriodicTask task_;  // the last member, because its thread uses the others
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_RATE_QUOTAS_H_
