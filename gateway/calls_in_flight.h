// How many operation calls are being served, so that a drain knows when it is done.
#ifndef STAMPGATE_GATEWAY_CALLS_IN_FLIGHT_H_
#define STAMPGATE_GATEWAY_CALLS_IN_FLIGHT_H_

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace stampgate {

// Thread-safe.
class CallsInFlight {
 public:
  void Begin();
  void End();

  // Waits until there is none or `deadline` has passed; true if there is none.
  bool WaitUntilNone(absl::Time deadline);

 private:
  // Of the standard library, so that the thread sanitizer sees it.
  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_IN_FLIGHT_H_
