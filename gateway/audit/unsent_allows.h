// Limits how many allowed calls of each caller may send nothing upstream, because each of them is recorded.
#ifndef STAMPGATE_GATEWAY_AUDIT_UNSENT_ALLOWS_H_
#define STAMPGATE_GATEWAY_AUDIT_UNSENT_ALLOWS_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"

namespace stampgate {

// Upstream's speed and its rates limit how many calls are sent, and so how fast their records fill the disk. Nothing
// else limits the allowed calls that send nothing: Prepare, reads of events, and calls whose callers leave before the
// request is sent. So each caller may have kBurst of them at once, and further kPerSecond in a second. Each call that
// was sent permits one more, because a client that prepares a body usually sends it.
//
// Without rates in the config, upstream's speed alone lets one caller fill a disk in days. So while the disk's space is
// scarce, the calls that are sent count like the others: then each caller gets an equal part of the space that is left.
// Thread-safe.
class UnsentAllows {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr double kBurst = 1'000;
  static constexpr double kPerSecond = 5;

  explicit UnsentAllows(std::function<Clock::time_point()> now = Clock::now) : now_(std::move(now)) {}

  // Returns nothing if the caller may have a further call allowed. Otherwise returns how long it must wait.
  std::optional<absl::Duration> Refuse(absl::string_view caller);

  // From now on, the disk's space is scarce, or is not. When it suffices again, forgets what the callers have used.
  void SetScarce(bool scarce);
  bool scarce() const { return scarce_; }

  // Counts an allowed call of the caller that has ended.
  void Count(absl::string_view caller, bool sent);

 private:
  struct Caller {
    double left = kBurst;  // below 0 if calls that were allowed at the same time have sent nothing
    Clock::time_point at;
  };

  // Returns what is left to the caller now.
  double LeftTo(const Caller& caller) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<Clock::time_point()> now_;
  std::atomic<bool> scarce_ = false;
  Mutex mutex_;
  // Those with less than kBurst when they were last counted.
  absl::flat_hash_map<std::string, Caller> callers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_UNSENT_ALLOWS_H_
