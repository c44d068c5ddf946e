// Where the replicas agree about their shares of upstream's rates.
#ifndef STAMPGATE_GATEWAY_SHARES_SHARE_STORE_H_
#define STAMPGATE_GATEWAY_SHARES_SHARE_STORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gateway/shares/rate_demand.h"

namespace stampgate {

// What one replica states about itself and asks for.
struct ShareRenewal {
  std::string replica;  // 16 random bytes of a process; the others perhaps see another name, and not this secret
  int64_t number = 0;   // 1, and one more with each renewal
  struct Rate {
    std::string rate;
    Millionths used = 0;   // the share that the replica uses until it gets the answer
    Millionths asked = 0;  // the share that it asks for
  };
  std::vector<Rate> rates;
  std::vector<RateDemand> demand;
  // Replicas that have been silent since their renewals with these numbers, by the names of ShareAnswer. Their shares
  // become free, unless the store has heard from them.
  struct Silent {
    std::string replica;
    int64_t number = 0;
  };
  std::vector<Silent> silent;
};

struct ShareAnswer {
  // The granted share of each rate of the renewal, in the same order: not more than the replica asked for.
  std::vector<Millionths> granted;
  // The other replicas, as their last renewals describe them.
  struct Replica {
    std::string replica;
    int64_t number = 0;
    std::vector<RateDemand> demand;
  };
  std::vector<Replica> others;
};

// A replica counts with the largest share that it may be using: the granted one or, until its next renewal, the one
// that it used before. So the shares of a rate in all replicas are at most kWhole at every moment, and a share that
// becomes smaller is free only when its replica has confirmed this with its next renewal, or is silent. One thread at a
// time may use a store.
class ShareStore {
 public:
  virtual ~ShareStore() = default;

  // Errors: kAborted if the replica has already made a later renewal; kFailedPrecondition if the store lacks the tables
  // or the rights; any other if the store cannot be used now. After an error, the store has perhaps carried out the
  // renewal. A call can wait for the network for several seconds, but not for a standby.
  virtual absl::StatusOr<ShareAnswer> Renew(const ShareRenewal& renewal) = 0;

  // Frees the shares of a replica that no longer uses any. Errors: the store cannot be used now.
  virtual absl::Status Release(const std::string& replica) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_SHARE_STORE_H_
