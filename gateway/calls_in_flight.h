// How many operation calls are being served, so that a drain knows when it is done.
#ifndef STAMPGATE_GATEWAY_CALLS_IN_FLIGHT_H_
#define STAMPGATE_GATEWAY_CALLS_IN_FLIGHT_H_

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace stampgate {

// Thread-safe.
class CallsInFlight {
 public:
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until there is none or `deadline` has passed; true if there is none.
  bool WaitUntilNone(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_IN_FLIGHT_H_
