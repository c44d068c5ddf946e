// Bounds the time that the process takes to end.
#ifndef STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_
#define STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_

#include <atomic>

#include "absl/time/time.h"

namespace stampgate {

// An orderly end may hang: a thread that waits for a disk can be neither joined nor stopped. With this bound no single
// step of the end needs its own. When the time is over, the process logs what it still waited for and ends with
// _exit(1), without destructors. Everything that was promised to be durable is; the rest is as after a crash.
class EndBound {
 public:
  // Ends the process after `patience`, if it still runs. Cannot be cancelled, and also bounds exit(). Create it once,
  // and never destroy it.
  explicit EndBound(absl::Duration patience);

  EndBound(const EndBound&) = delete;
  EndBound& operator=(const EndBound&) = delete;
  ~EndBound() = delete;

  // Sets what the process waits for from now on, for the log. Must be a constant.
  void WaitFor(const char* what) { what_ = what; }

 private:
  std::atomic<const char*> what_ = "";
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_
