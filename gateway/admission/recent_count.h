// Counts events of about the last second.
#ifndef STAMPGATE_GATEWAY_ADMISSION_RECENT_COUNT_H_
#define STAMPGATE_GATEWAY_ADMISSION_RECENT_COUNT_H_

#include <cmath>

#include "absl/time/time.h"

namespace stampgate {

// Each event counts less as it becomes older: a second later, as 1/e. If n events happen in each second, the count is
// about n. Times are of a clock that never goes back. Not thread-safe.
class RecentCount {
 public:
  void Add(absl::Time now) {
    count_ = At(now) + 1;
    at_ = now;
  }

  double At(absl::Time now) const { return count_ * std::exp(-absl::FDivDuration(now - at_, absl::Seconds(1))); }

 private:
  double count_ = 0;
  absl::Time at_ = absl::InfinitePast();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_RECENT_COUNT_H_
