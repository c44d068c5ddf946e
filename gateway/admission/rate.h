// One rate of upstream: several windows that hold at once, and what upstream's responses say about them.
#ifndef STAMPGATE_GATEWAY_ADMISSION_RATE_H_
#define STAMPGATE_GATEWAY_ADMISSION_RATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "gateway/admission/rate_window.h"

namespace stampgate {

// Without windows, a rate limits nothing. Times are of a clock that never goes back. Not thread-safe.
//
// Each time that upstream refuses a request because of a rate, the rate becomes slower by kStep, but not more often
// than once in kStepInterval. It becomes faster by kRecovery in each second, until it has its configured speed again.
class Rate {
 public:
  static constexpr double kStep = 0.05;
  static constexpr absl::Duration kStepInterval = absl::Milliseconds(100);
  static constexpr double kRecovery = 0.02;
  static constexpr double kSlowest = 0.1;

  explicit Rate(const std::vector<RateLimit>& limits);

  // See RateWindow. When returns the latest time of all windows.
  absl::Time When(int64_t count, absl::Time now);
  // See RateWindow. Whether all windows have the places.
  bool HasPlaces(int64_t count, absl::Time now);
  void Begin(absl::Time now, bool waited);
  void Sent(absl::Time now);
  void Withdraw();
  void SetShare(double share, absl::Time now);

  // Upstream has refused a request because of its rate. If `retry_after` is given, nothing begins before it has passed,
  // at most for kLongestPause. Retry-After has whole seconds, so a delay of one second means no more than "soon":
  // the slower rate is enough then.
  void Refused(absl::Time now, std::optional<absl::Duration> retry_after);
  // Returns the end of the pause.
  static absl::Time EndOfPause(absl::Time now, std::optional<absl::Duration> retry_after);
  static constexpr absl::Duration kShortestPause = absl::Seconds(1);
  static constexpr absl::Duration kLongestPause = absl::Seconds(60);

  // Upstream has reported in a response that `remaining` of `limit` requests remain. If a window has this limit, and
  // upstream has counted more requests than the window, the difference belongs to others that share the limit.
  void Remaining(int64_t limit, int64_t remaining, absl::Time now);

  // Returns the limit of the window that `count` further requests wait for longest; nothing if they need not wait, or
  // wait longer for the end of a pause.
  std::optional<RateLimit> Narrowest(int64_t count, absl::Time now);

  // Returns how many requests fit into a second in the long run; infinite without windows.
  double PerSecond(absl::Time now);

  bool IsEmpty(absl::Time now);
  // Whether upstream's refusals make the rate slower than configured.
  bool is_slowed(absl::Time now) const { return Speed(now) < 1 || now < paused_until_; }
  bool has_windows() const { return !windows_.empty(); }

 private:
  double Speed(absl::Time now) const;
  void ApplySpeed(absl::Time now);

  std::vector<RateWindow> windows_;
  double speed_ = 1;
  absl::Time slowed_at_ = absl::InfinitePast();
  absl::Time paused_until_ = absl::InfinitePast();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_RATE_H_
