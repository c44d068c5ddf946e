// Limits the time that the process takes to end.
#ifndef STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_
#define STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_

#include <atomic>

#include "absl/time/time.h"

namespace stampgate {

// Ends the process if its orderly end takes too long. An orderly end can hang: a thread that waits for a disk can be
// neither joined nor stopped. One time limit covers all steps of the end, so that no step needs a limit of its own.
// When the limit is reached, the process logs the step for which it is waiting, and calls _exit(1), which runs no
// destructors. All data that the process has reported as durable is on the disk; other data may be lost, as after a
// crash.
class EndBound {
 public:
  // Ends the process after `patience` if the process still runs, even if it is inside exit(). The limit cannot be
  // cancelled. Requires that only one EndBound is created, and that it is never destroyed. `what` is as for WaitFor.
  EndBound(absl::Duration patience, const char* what);

  EndBound(const EndBound&) = delete;
  EndBound& operator=(const EndBound&) = delete;
  ~EndBound() = delete;

  // Sets `what` as the name of the step for which the process now waits. The log line of the limit contains this name.
  // `what` must be a constant.
  void WaitFor(const char* what) { what_ = what; }

 private:
  std::atomic<const char*> what_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_
