// One of the processes that share upstream's rates: makes renewals, and decides which shares the process may use.
#ifndef STAMPGATE_GATEWAY_SHARES_REPLICA_H_
#define STAMPGATE_GATEWAY_SHARES_REPLICA_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/shares/held_shares.h"
#include "gateway/shares/rate_demand.h"
#include "gateway/shares/rate_division.h"
#include "gateway/shares/share_store.h"

namespace stampgate {

// The shares of the replicas are safe without a common clock. A replica uses granted shares for kLasts after it sent
// the renewal. Another replica declares it silent kSilence or more after it saw this renewal in an answer, and only if
// the store still has no later one. So a share is not used twice, as long as the clocks of two machines differ by less
// than 9 % in speed. A step of a machine's or the server's wall clock has no effect.
//
// Each replica computes the division of the rates from the demand that it knows, uses less at once if its part has
// become smaller, and asks the store for more if its part has become larger. Not thread-safe.
class Replica {
 public:
  // The interval between renewals.
  static constexpr absl::Duration kInterval = absl::Milliseconds(200);
  // How long granted shares may be used after the renewal was sent: two renewals in turn may fail.
  static constexpr absl::Duration kLasts = absl::Milliseconds(500);
  // When others may declare a replica silent. Its shares are free at the latest kInterval after this time.
  static constexpr absl::Duration kSilence = absl::Milliseconds(550);
  // The largest number of callers that a renewal names, in all rates. Those with the largest demand are named.
  static constexpr size_t kMaxCallers = 512;

  // `id` is the name of the process, and must be unique.
  explicit Replica(std::string id) : id_(std::move(id)) {}

  // Returns the next renewal, before which the process must use at most held().
  ShareRenewal Begin(std::vector<RateDemand> demand, absl::Time now);

  // Ends the renewal that Begin has returned at `sent`.
  void End(const ShareRenewal& renewal, const absl::StatusOr<ShareAnswer>& answer, absl::Time sent, absl::Time now);

  // The shares that the process may use. The object does not change; Begin and End replace it.
  std::shared_ptr<const HeldShares> held() const { return held_; }

  // Whether the next renewal should not wait, because it makes a share free for which another replica waits.
  bool IsUrgent() const { return is_urgent_; }

 private:
  struct Other {
    int64_t number = 0;
    absl::Time seen;  // when this replica first saw this number
    std::vector<RateDemand> demand;
  };

  RateDivision Divide(const RateDemand& own) const;

  const std::string id_;
  int64_t number_ = 0;
  std::vector<RateDemand> demand_;
  std::map<std::string, Other> others_;
  bool is_urgent_ = false;
  std::shared_ptr<const HeldShares> held_ = std::make_shared<HeldShares>();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_REPLICA_H_
