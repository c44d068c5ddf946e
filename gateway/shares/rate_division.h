// Divides a rate between the replicas by the demand of the callers.
//
// The division is weighted max-min fair between the callers, wherever their calls arrive: no caller gets more than it
// wants, and what one caller does not want goes to the others by their weights. A caller's part is divided between the
// replicas at which it has calls, in equal parts up to its demand at each replica.
//
// Every replica computes the division from the same demands, and so gets the same result.
#ifndef STAMPGATE_GATEWAY_SHARES_RATE_DIVISION_H_
#define STAMPGATE_GATEWAY_SHARES_RATE_DIVISION_H_

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/shares/rate_demand.h"

namespace stampgate {

// The part of one replica.
struct RateDivision {
  // The replica's share of the rate. What no caller wants is divided equally between the replicas, so that calls that
  // arrive next need not wait. The shares of all replicas are at most kWhole in all.
  Millionths share = 0;
  // The part of each caller's weight that counts at this replica, between 0 and 1. If the replica divides its share by
  // the weights multiplied by these parts, each caller gets its part of the whole rate.
  std::unordered_map<std::string, double> weight_parts;
};

// A replica uses only whole calls of its share of a rate, and a fraction of a call would be lost at each replica. So
// the shares are rounded to whole calls, in such a way that their sum remains. A share of less than one call is not
// rounded: its replica begins a call in a longer interval.
struct WholeCalls {
  int64_t calls = 0;    // RateDemand::whole_calls
  double reserved = 0;  // the part of the rate that each replica has anyway
  double divided = 1;   // the part of the rate that the shares divide
};

// Divides a rate between `replicas`, each with the demand of its callers. Returns the part of replicas[self]. Every
// replica must list the replicas in the same order. Requires at least one replica.
RateDivision DivideRate(const std::vector<const std::vector<CallerDemand>*>& replicas, size_t self,
                        const WholeCalls& whole = {});

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SHARES_RATE_DIVISION_H_
