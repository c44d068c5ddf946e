// Whether the process still works: the page /livez.
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

  // A check that takes longer than this counts as failed. A check that works is always faster.
  static constexpr std::chrono::seconds kMaxSilence{15};

  explicit Liveness(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  // Runs `check` at once, and then every `interval` on its own thread. It returns OK if the process works, and must be
  // bounded in time. Its error is in the log and on the page, so it must not contain secrets. Call this once.
  void Start(std::function<absl::Status()> check, absl::Duration interval);

  // From now on the process counts as live: it accepts no new connections, and must be left to end.
  void Drain();

  // 503 before Start, and after a check that failed or did not return; otherwise 200.
  AdminAnswer Answer() const;

 private:
  void Check();

  const std::function<Clock::time_point()> now_;
  std::function<absl::Status()> check_;

  mutable std::mutex mutex_;
  std::optional<absl::Status> last_;  // result of the last check
  Clock::time_point checked_;         // when the last check ended
  bool draining_ = false;

  std::unique_ptr<PeriodicTask> task_;  // last member, because it uses the others
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMIN_LIVENESS_H_
