// Takes calls of quotas in blocks, so that a call need not wait for the store.
#ifndef STAMPGATE_GATEWAY_SHARES_QUOTA_BLOCKS_H_
#define STAMPGATE_GATEWAY_SHARES_QUOTA_BLOCKS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/shares/quota_store.h"

namespace stampgate {

// The use of a quota at this replica.
struct QuotaDemand {
  QuotaLimit limit;
  int64_t begun = 0;    // calls that this process has begun under this quota since the process started
  int64_t waiting = 0;  // calls that wait for the quota now
};

// What this replica may begin.
class HeldQuotas {
 public:
  // Returns how many further calls the process may begin at `now` under a quota, if it has begun `begun` calls.
  int64_t Left(absl::string_view quota, absl::Duration window, int64_t begun, absl::Time now) const;

  struct Block {
    int64_t through = 0;  // the process may begin calls until their number since its start is this
    absl::Time until;
    int64_t part = 0;
  };
  std::map<std::pair<std::string, absl::Duration>, Block> blocks;
};

// A block is a two-hundredth of the quota, or as many calls as wait. The next one is taken when half of it is left. So
// the calls of all replicas never exceed a quota. The calls of a block whose process has died are lost until they leave
// the window: about a two-hundredth of the quota for each death. While the store cannot be used, the replica begins
// only the calls of its block. Not thread-safe.
class QuotaBlocks {
 public:
  // Takes what is needed, and gives back what is left of blocks that have ended. Read `now` before `demand`, so that
  // `begun` counts all calls of the ended blocks. Returns the error of the store if a Take has failed.
  absl::Status Refill(const std::vector<QuotaDemand>& demand, QuotaStore& store, absl::Time now);

  // Gives back what is left of all blocks. The process must begin no further call.
  void Return(const std::vector<QuotaDemand>& demand, QuotaStore& store);

  // The object does not change; Refill and Return replace it.
  std::shared_ptr<const HeldQuotas> held() const { return held_; }

 private:
  std::shared_ptr<const HeldQuotas> held_ = std::make_shared<HeldQuotas>();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_QUOTA_BLOCKS_H_
