// Whether the process still does its work: what /livez says.
#ifndef STAMPGATE_GATEWAY_ADMIN_LIVENESS_H_
#define STAMPGATE_GATEWAY_ADMIN_LIVENESS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gateway/admin/page.h"
#include "gateway/process/periodic_task.h"

namespace stampgate {

// Thread-safe.
class Liveness {
 public:
  using Clock = std::chrono::steady_clock;

  // A check that takes longer than this to say something counts as failed. Longer than any that works as it should.
  static constexpr std::chrono::seconds kMaxSilence{15};

  explicit Liveness(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  // Runs `check` at once, and from then on every `interval` on a thread of its own. It returns whether all is well, and
  // must be bounded in time. What it fails with is in the log and in the answer: no secrets. Once.
  void Start(std::function<absl::Status()> check, absl::Duration interval);

  // From now on the process is taken to live: it takes no new connections any more, and is to end in peace.
  void Drain();

  // 503 before Start, and after a check that failed or did not come back; else 200.
  AdminAnswer Answer() const;

 private:
  void Check();

  const std::function<Clock::time_point()> now_;
  std::function<absl::Status()> check_;

  mutable std::mutex mutex_;
  std::optional<absl::Status> last_;  // what the last check said
  Clock::time_point checked_;         // and when
  bool draining_ = false;

  std::unique_ptr<PeriodicTask> task_;  // the last: it uses the others
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_LIVENESS_H_
