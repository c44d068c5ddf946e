// The clock by which a store measures the age of its entries. A jump of the system's clock moves this clock by one hour
// at most.
#ifndef STAMPGATE_BASE_DISK_AGE_CLOCK_H_
#define STAMPGATE_BASE_DISK_AGE_CLOCK_H_

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace stampgate {

// Advances with the system's clock, and never moves back. If the system's clock jumps forward, or the process did not
// run for a while, this clock advances by kMaxStep at most. Because of this limit, a store deletes entries at most one
// hour too early if the system's clock is wrong for a minute. A store saves the two numbers of this clock with its
// entries.
struct AgeClock {
  static constexpr absl::Duration kMaxStep = absl::Hours(1);

  int64_t age_us = 0;   // the time of this clock
  int64_t wall_us = 0;  // the system's time at the last Advance; since 1970

  // Moves this clock to the system's time `now`. Call Advance at least once in each period of kMaxStep.
  void Advance(absl::Time now) {
    const int64_t now_us = absl::ToUnixMicros(now);
    age_us += std::clamp<int64_t>(now_us - wall_us, 0, absl::ToInt64Microseconds(kMaxStep));
    wall_us = now_us;
  }
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_AGE_CLOCK_H_
