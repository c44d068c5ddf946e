// The rate of one operation that the config does not state, as upstream's responses show it.
#ifndef STAMPGATE_GATEWAY_ADMISSION_LEARNED_RATE_H_
#define STAMPGATE_GATEWAY_ADMISSION_LEARNED_RATE_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "gateway/admission/rate_window.h"
#include "gateway/admission/recent_count.h"

namespace stampgate {

// Limits nothing until upstream refuses a request. Then it is a little slower than upstream has been lately: kStep of
// as many requests in a second as upstream has accepted in the last second. Each further refusal learns again. If
// upstream accepts nothing, each refusal halves the rate. Without refusals, the rate becomes faster by kRecovery in
// each second. When it is kForgotten times what was learned, it limits nothing again. Times are of a clock that never
// goes back. Not thread-safe.
class LearnedRate {
 public:
  static constexpr double kStep = 0.95;
  static constexpr double kRecovery = 0.02;
  static constexpr double kForgotten = 2;
  static constexpr double kSlowest = 0.1;  // in this case, one request in ten seconds

  // See RateWindow.
  absl::Time When(int64_t count, absl::Time now);
  bool HasPlaces(int64_t count, absl::Time now);
  void Begin(absl::Time now, bool waited) { window_.Begin(now, waited); }
  void Sent(absl::Time now) { window_.Sent(now); }
  void Withdraw() { window_.Withdraw(); }

  // Upstream has not refused a request because of its rate.
  void Accepted(absl::Time now) { accepted_.Add(now); }

  // Upstream has refused a request because of its rate. See Rate::Refused for `retry_after`.
  void Refused(absl::Time now, std::optional<absl::Duration> retry_after);

  // Returns how many requests fit into a second in the long run; nothing while the rate limits nothing.
  std::optional<double> PerSecond(absl::Time now);

  // Returns whether the rate is as if it was new.
  bool IsEmpty(absl::Time now);

 private:
  // More requests than any process sends.
  static constexpr RateLimit kUnlimited = {int64_t{1'000'000'000}, absl::Seconds(1)};

  bool is_learned() const { return learned_at_ > absl::InfinitePast(); }
  double Speed(absl::Time now) const { return speed_ + kRecovery * absl::ToDoubleSeconds(now - learned_at_); }
  // Uses the speed of this moment, and forgets what was learned long ago.
  void Update(absl::Time now);

  RateWindow window_{kUnlimited};
  RecentCount accepted_;
  double speed_ = 1;                              // when upstream last refused a request
  absl::Time learned_at_ = absl::InfinitePast();  // when upstream last refused a request, until that is forgotten
  absl::Time paused_until_ = absl::InfinitePast();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_LEARNED_RATE_H_
