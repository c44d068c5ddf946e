// The shares of upstream's rates that this replica may use.
#ifndef STAMPGATE_GATEWAY_SHARES_HELD_SHARES_H_
#define STAMPGATE_GATEWAY_SHARES_HELD_SHARES_H_

#include <string>
#include <unordered_map>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/shares/rate_demand.h"

namespace stampgate {

// The part of every rate that the replicas divide equally, whether they use the rate or not. So the first call after a
// pause need not wait until the replica has a share of its rate.
inline constexpr Millionths kReserve = 20'000;

// The name under which the replicas divide the reserve. It is no name of a rate.
inline constexpr char kReserveRate[] = "";

// While the shares are in force, the replica uses what the store has granted. Afterwards, other replicas may get these
// shares, and the replica uses min(granted, 1/n) of each rate, where n is the number of replicas that it last saw,
// including itself. After kAbsence it uses 1/n of every rate, because the callers of a rate can have changed. Times are
// of the clock of RateSharesOptions.
class HeldShares {
 public:
  static constexpr absl::Duration kAbsence = absl::Seconds(5);

  // What a replica uses that has never reached the store: 1/8 of every rate.
  HeldShares() = default;

  // Returns this replica's part of the rate, from 0 to 1.
  double Share(absl::string_view rate, absl::Time now) const;

  // Returns the part of the caller's weight that counts at this replica: see RateDivision.
  double WeightPart(absl::string_view rate, absl::string_view caller) const;

  bool InForce(absl::Time now) const { return now < until; }

  // Returns the share of a rate, or of the reserve, that may be used at `now`.
  Millionths Usable(absl::string_view rate, absl::Time now) const;

  struct Rate {
    Millionths share = 0;
    std::unordered_map<std::string, double> weight_parts;
  };
  std::unordered_map<std::string, Rate> rates;  // with kReserveRate
  absl::Time until = absl::InfinitePast();
  int replicas = 8;  // that this replica last saw, including itself
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_HELD_SHARES_H_
