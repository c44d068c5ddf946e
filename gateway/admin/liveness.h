// Decides whether the process still works: the page /livez.
#ifndef STAMPGATE_GATEWAY_ADMIN_LIVENESS_H_
#define STAMPGATE_GATEWAY_ADMIN_LIVENESS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/admin/page.h"
#include "gateway/process/periodic_task.h"

namespace stampgate {

// Repeats a check of the process, and returns a page with the result of the last check. Thread-safe.
class Liveness {
 public:
  using Clock = std::chrono::steady_clock;

  // If no check has ended for this time, the process does not work. While the process works, checks end more often.
  static constexpr std::chrono::seconds kMaxSilence{15};

  explicit Liveness(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  // Runs `check` immediately on this thread, and then every `interval` on another thread. `check` returns OK if the
  // process works, and must return within a bounded time. Its error is logged and shown on the page, so the error must
  // not contain secrets. Start must be called only once.
  void Start(std::function<absl::Status()> check, absl::Duration interval);

  // From now on, Answer returns 200. A draining process accepts no new connections, so the check would fail, but nobody
  // should kill the process before it has ended its calls. Waits for a check in progress.
  void Drain();

  // Returns 503 before Start, after a failed check, and if no check has ended for kMaxSilence; otherwise 200.
  AdminAnswer Answer() const;

 private:
  void Check();

  const std::function<Clock::time_point()> now_;
  std::function<absl::Status()> check_;

  mutable Mutex mutex_;
  std::optional<absl::Status> last_ ABSL_GUARDED_BY(mutex_);  // the result of the last check
  Clock::time_point checked_ ABSL_GUARDED_BY(mutex_);         // when the last check ended
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;

  std::unique_ptr<PeriodicTask> task_;  // last member, because the task uses the other members
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_LIVENESS_H_
