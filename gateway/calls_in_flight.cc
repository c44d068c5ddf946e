#include "gateway/calls_in_flight.h"

namespace stampgate {

void CallsInFlight::Begin() {
  absl::MutexLock lock(&mutex_);
  ++count_;
}

void CallsInFlight::End() {
  absl::MutexLock lock(&mutex_);
  --count_;
}

bool CallsInFlight::WaitUntilNone(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithDeadline(absl::Condition(
                                      +[](int* count) { return *count == 0; }, &count_),
                                  deadline);
}

}  // namespace stampgate
