// The bound on the time that the process takes to end.
#ifndef STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_
#define STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_

#include <atomic>

#include "absl/time/time.h"

namespace stampgate {

// What ends in order may hang: a thread that waits for a disk cannot be joined, nor ended from outside. So nothing that
// belongs to an orderly end needs a bound of its own: when the time is over, the process logs what it still waited for
// and ends with _exit(1), without destructors. All that is promised to be on a disk is there: it is as after a crash.
class EndBound {
 public:
  // The process ends when `patience` is over, if it lives so long. There is no way back, and the bound is for exit()
  // too. Made once, and never destroyed.
  explicit EndBound(absl::Duration patience);

  EndBound(const EndBound&) = delete;
  EndBound& operator=(const EndBound&) = delete;
  ~EndBound() = delete;

  // What the process waits for from now on, for the log. A constant.
  void WaitFor(const char* what) { what_ = what; }

 private:
  std::atomic<const char*> what_ = "";
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_END_BOUND_H_
