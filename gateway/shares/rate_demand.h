// The demand of the callers for upstream's rates, as one replica sees it.
#ifndef STAMPGATE_GATEWAY_SHARES_RATE_DEMAND_H_
#define STAMPGATE_GATEWAY_SHARES_RATE_DEMAND_H_

#include <cstdint>
#include <string>
#include <vector>

namespace stampgate {

// A part of a rate, in millionths of the rate.
using Millionths = int64_t;
inline constexpr Millionths kWhole = 1'000'000;

// A caller that has calls at this replica which wait for the rate, or have used it recently.
struct CallerDemand {
  std::string caller;
  // The caller's weight, larger than zero. It is the same at all replicas.
  int64_t weight = 1;
  // The calls that arrive in a second, and those that wait, as a part of the calls that the rate allows in a second.
  Millionths wanted = 0;
};

// A rate that this replica uses. The callers can be missing: the replica then keeps a share for the next call.
struct RateDemand {
  // The same at all replicas, such as "upstream".
  std::string rate;
  std::vector<CallerDemand> callers;
  // How many calls the rate's limit allows in its interval. A replica uses only whole calls of its share. If 0, its
  // share can be any part of the rate. The same at all replicas, so a renewal does not contain it.
  int64_t whole_calls = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_RATE_DEMAND_H_
