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
  int64_t begun = 0;    // a number that increases by one when this process begins a call under this quota
  int64_t waiting = 0;  // calls that wait for the quota now
  bool is_used = true;  // if false, no block is taken, and the last one is given back when it ends
};

// What this replica may begin.
class HeldQuotas {
 public:
  struct Block {
    // Returns how many further calls the process may begin at `now`, if it has begun `begun` calls.
    int64_t Left(int64_t begun, absl::Time now) const;

    int64_t through = 0;  // the process may begin calls until the number of begun calls is this
    absl::Time until;
    int64_t part = 0;
    int64_t unused = 0;  // calls of the quota that no replica had taken
    // If no call was left: when the first calls leave the window. Otherwise in the past.
    absl::Time freed_at = absl::InfinitePast();
    absl::Time asked_at = absl::InfinitePast();  // when the store was last asked
  };
  // Returns an ended block if the replica has none.
  Block Find(absl::string_view quota, absl::Duration window) const;

  std::map<std::pair<std::string, absl::Duration>, Block> blocks;
  bool is_failing = false;  // whether the last use of the store failed
};

// A block is a two-hundredth of the quota, or as many calls as wait. The next one is taken when half of it is left. So
// the calls of all replicas never exceed a quota. The calls of a block whose process has died are lost until they leave
// the window: about a two-hundredth of the quota for each death. While the store cannot be used, the replica begins
// only the calls of its block. Not thread-safe.
class QuotaBlocks {
 public:
  // How often it asks for a quota of which no call is left: another replica can have given calls back.
  static constexpr absl::Duration kUsedUpInterval = absl::Seconds(1);

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
