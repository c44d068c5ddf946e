// Measures how long a thread has waited for a disk or a server.
#ifndef STAMPGATE_BASE_THREADS_WAIT_CLOCK_H_
#define STAMPGATE_BASE_THREADS_WAIT_CLOCK_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "absl/time/time.h"

namespace stampgate {

// If a wait for a disk or a server takes longer than this duration, the disk or server hangs: nothing new is queued for
// it, and the gateway reports it.
inline constexpr absl::Duration kWriteHangsAfter = absl::Seconds(5);

// Thread-safe; one thread calls Begin and End.
class WaitClock {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WaitClock(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  // The thread begins to wait. It may be called again before End, for the next wait.
  void Begin() { began_ = now_().time_since_epoch(); }
  void End() { began_ = kNone; }

  // Returns how long the current wait has taken so far; zero if the thread does not wait.
  absl::Duration under_way() const {
    const Clock::duration began = began_;
    return began == kNone ? absl::ZeroDuration() : absl::FromChrono(now_().time_since_epoch() - began);
  }

  bool hangs() const { return under_way() > kWriteHangsAfter; }

 private:
  static constexpr Clock::duration kNone = Clock::duration::min();

  const std::function<Clock::time_point()> now_;
  std::atomic<Clock::duration> began_ = kNone;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_THREADS_WAIT_CLOCK_H_
