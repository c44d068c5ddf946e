#include "gateway/admission/rate.h"

#include <algorithm>
#include <limits>

namespace stampgate {
namespace {

// Upstream's count and ours differ by up to this part of the limit, because requests and responses are on their way.
constexpr int64_t kUncertainty = 20;

}  // namespace

Rate::Rate(const std::vector<RateLimit>& limits) : windows_(limits.begin(), limits.end()) {}

absl::Time Rate::When(int64_t count, absl::Time now) {
  if (windows_.empty()) return now;
  ApplySpeed(now);
  const absl::Time from = std::max(now, paused_until_);
  absl::Time when = from;
  for (const RateWindow& window : windows_) when = std::max(when, window.When(count, from));
  return when;
}

bool Rate::HasPlaces(int64_t count, absl::Time now) {
  ApplySpeed(now);
  return std::all_of(windows_.begin(), windows_.end(),
                     [&](const RateWindow& window) { return window.HasPlaces(count, now); });
}

void Rate::Begin(absl::Time now, bool waited) {
  for (RateWindow& window : windows_) window.Begin(now, waited);
}

void Rate::Sent(absl::Time now) {
  for (RateWindow& window : windows_) window.Sent(now);
}

void Rate::Withdraw() {
  for (RateWindow& window : windows_) window.Withdraw();
}

void Rate::SetShare(double share, absl::Time now) {
  for (RateWindow& window : windows_) window.SetShare(share, now);
}

void Rate::Refused(absl::Time now, std::optional<absl::Duration> retry_after) {
  paused_until_ = std::max(paused_until_, EndOfPause(now, retry_after));
  if (now < slowed_at_ + kStepInterval) return;
  speed_ = std::max(Speed(now) * (1 - kStep), kSlowest);
  slowed_at_ = now;
  ApplySpeed(now);
}

absl::Time Rate::EndOfPause(absl::Time now, std::optional<absl::Duration> retry_after) {
  if (!retry_after.has_value() || *retry_after <= kShortestPause) return absl::InfinitePast();
  return now + std::min(*retry_after, kLongestPause);
}

void Rate::Remaining(int64_t limit, int64_t remaining, absl::Time now) {
  for (RateWindow& window : windows_) {
    if (window.limit().requests != limit) continue;
    return window.SetOthers(limit - remaining - window.used(now) - limit / kUncertainty, now);
  }
}

std::optional<RateLimit> Rate::Narrowest(int64_t count, absl::Time now) {
  ApplySpeed(now);
  std::optional<RateLimit> narrowest;
  absl::Time latest = std::max(now, paused_until_);
  for (const RateWindow& window : windows_) {
    const absl::Time when = window.When(count, now);
    if (when <= latest) continue;
    latest = when;
    narrowest = window.limit();
  }
  return narrowest;
}

double Rate::PerSecond(absl::Time now) {
  ApplySpeed(now);
  double least = std::numeric_limits<double>::infinity();
  for (const RateWindow& window : windows_) least = std::min(least, window.PerSecond(now));
  return least;
}

bool Rate::IsEmpty(absl::Time now) {
  if (is_slowed(now)) return false;
  for (RateWindow& window : windows_) {
    if (!window.IsEmpty(now)) return false;
  }
  return true;
}

double Rate::Speed(absl::Time now) const {
  if (speed_ >= 1) return 1;
  return std::min(1.0, speed_ + kRecovery * absl::ToDoubleSeconds(now - slowed_at_));
}

void Rate::ApplySpeed(absl::Time now) {
  const double speed = Speed(now);
  if (speed_ >= 1 && speed >= 1) return;
  if (speed >= 1) speed_ = 1;
  for (RateWindow& window : windows_) window.SetSpeed(speed);
}

}  // namespace stampgate
