// Limits the time that the process takes to end.
#ifndef STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_
#define STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_

#include <atomic>

#include "absl/time/time.h"

namespace stampgate {

// Ends the process if its orderly end takes too long. An orderly end can hang: a thread that waits for a disk can be
// neither joined nor stopped. This limit covers all steps of the end, so that no step needs a limit of its own. When
// the time is over, the process logs which step it is waiting for, and calls _exit(1), which runs no destructors. All
// data that the process has reported as durable is on the disk; other data may be lost, as after a crash.
class EndBound {
 public:
  // Ends the process after `patience` if it still runs, even if it is inside exit(). The limit cannot be cancelled.
  // Must be created only once, and never destroyed.
  explicit EndBound(absl::Duration patience);

  EndBound(const EndBound&) = delete;
  EndBound& operator=(const EndBound&) = delete;
  ~EndBound() = delete;

  // Sets the name of the step that the process now waits for, for the log. `what` must be a constant.
  void WaitFor(const char* what) { what_ = what; }

 private:
  std::atomic<const char*> what_ = "";
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_
