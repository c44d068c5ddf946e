// The clock by which a store ages its entries; a step of the system's clock does not make it jump.
#ifndef STAMPGATE_WEBHOOKS_DISK_AGE_CLOCK_H_
#define STAMPGATE_WEBHOOKS_DISK_AGE_CLOCK_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace stampgate {

// Follows the system's clock while that runs steadily. It never goes back. A step forward, or a time in which nothing
// ran, counts as at most kMaxStep: entries with a retention of a week are not deleted because a clock was wrong for a
// minute. It is stored beside the entries, as two numbers.
struct AgeClock {
  static constexpr absl::Duration kMaxStep = absl::Hours(1);

  int64_t age_us = 0;   // its own time
  int64_t wall_us = 0;  // the system's clock when it was last advanced; since 1970

  // Call it at least once in kMaxStep.
  void Advance(absl::Time now) {
    const int64_t now_us = absl::ToUnixMicros(now);
    age_us += std::clamp<int64_t>(now_us - wall_us, 0, absl::ToInt64Microseconds(kMaxStep));
    wall_us = now_us;
  }
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_AGE_CLOCK_H_
