#include "gateway/admission/learned_rate.h"

#include <algorithm>
#include <cmath>

#include "gateway/admission/rate.h"

namespace stampgate {

absl::Time LearnedRate::When(int64_t count, absl::Time now) {
  Update(now);
  const absl::Time from = std::max(now, paused_until_);
  return is_learned() ? window_.When(count, from) : from;
}

bool LearnedRate::HasPlaces(int64_t count, absl::Time now) {
  Update(now);
  return !is_learned() || window_.HasPlaces(count, now);
}

void LearnedRate::Refused(absl::Time now, std::optional<absl::Duration> retry_after) {
  paused_until_ = std::max(paused_until_, Rate::EndOfPause(now, retry_after));
  const int64_t accepted = std::llround(accepted_.At(now));
  // Further requests that were on their way are refused for the same reason.
  if (accepted == 0 && is_learned() && now < learned_at_ + Rate::kStepInterval) return;
  speed_ = accepted > 0 || !is_learned() ? kStep : std::max(std::min(Speed(now), 1.0) / 2, kSlowest);
  learned_at_ = now;
  window_.SetLimit({std::max<int64_t>(accepted, 1), absl::Seconds(1)});
  window_.SetSpeed(speed_);
}

std::optional<double> LearnedRate::PerSecond(absl::Time now) {
  Update(now);
  return is_learned() ? std::optional(window_.PerSecond(now)) : std::nullopt;
}

bool LearnedRate::IsEmpty(absl::Time now) {
  Update(now);
  return !is_learned() && now >= paused_until_ && window_.IsEmpty(now);
}

void LearnedRate::Update(absl::Time now) {
  if (!is_learned()) return;
  if (Speed(now) < kForgotten) return window_.SetSpeed(Speed(now));
  learned_at_ = absl::InfinitePast();
  window_.SetLimit(kUnlimited);
  window_.SetSpeed(1);
}

}  // namespace stampgate
