#include "gateway/calls_in_flight.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace stampgate {

void CallsInFlight::Begin() {
  std::lock_guard lock(mutex_);
  ++count_;
}

void CallsInFlight::End() {
  std::lock_guard lock(mutex_);
  if (--count_ == 0) none_.notify_all();  // under the lock: whoever waits may then end this
}

bool CallsInFlight::WaitUntilNone(absl::Time deadline) {
  const absl::Duration left = std::min(deadline - absl::Now(), absl::Hours(24 * 365));
  std::unique_lock lock(mutex_);
  return none_.wait_for(lock, absl::ToChronoNanoseconds(left), [this] { return count_ == 0; });
}

}  // namespace stampgate
