// Names a timer.
#ifndef STAMPGATE_BASE_LOOP_TIMER_ID_H_
#define STAMPGATE_BASE_LOOP_TIMER_ID_H_

#include <cstdint>

namespace stampgate {

// No two timers of a loop are equal.
struct TimerId {
  int64_t time_ns = 0;  // of the monotonic clock
  uint64_t number = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_LOOP_TIMER_ID_H_
