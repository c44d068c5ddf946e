// The time of a clock that never goes back.
#ifndef STAMPGATE_GATEWAY_PROCESS_STEADY_NOW_H_
#define STAMPGATE_GATEWAY_PROCESS_STEADY_NOW_H_

#include <chrono>

#include "absl/time/time.h"

namespace stampgate {

// Returns the time of the monotonic clock, counted from the clock's own beginning instead of 1970.
inline absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_STEADY_NOW_H_
