#include "gateway/admission/breaker.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;

// Returns whether an exchange has failed; nothing if that is unknown.
std::optional<bool> HasFailed(const UpstreamOutcome& outcome, absl::Duration duration) {
  if (const auto* answer = std::get_if<HttpAnswer>(&outcome); answer != nullptr) {
    return answer->status >= 500 && answer->status != 501;
  }
  const auto& failure = std::get<TransportFailure>(outcome);
  switch (failure.cause) {
    case Cause::kUnreachable:
    case Cause::kTls:
    case Cause::kBroken:
      return true;
    case Cause::kTimeout:
      if (duration >= (failure.body_sent ? Breaker::kPatience : Breaker::kConnectPatience)) return true;
      break;
    case Cause::kTooLarge:
    case Cause::kNoMemory:
      return false;
    case Cause::kNoSlot:
    case Cause::kCancelled:
    case Cause::kShutdown:
      break;
  }
  return std::nullopt;
}

}  // namespace

Breaker::Probe& Breaker::Probe::operator=(Probe&& other) noexcept {
  if (this == &other) return *this;
  Return();
  breaker_ = std::exchange(other.breaker_, nullptr);
  next_ = other.next_;
  return *this;
}

void Breaker::Probe::Return() {
  Breaker* const breaker = std::exchange(breaker_, nullptr);
  if (breaker == nullptr) return;
  const MutexLock lock(breaker->mutex_);
  // If the time has changed, a later probe has begun, or the breaker has closed and opened again.
  if (breaker->next_probe_ == next_) breaker->next_probe_ = absl::InfinitePast();
}

std::optional<absl::Duration> Breaker::Refuse(absl::Time now, Probe& probe) {
  Probe granted;
  {
    const MutexLock lock(mutex_);
    if (!open_) return std::nullopt;
    if (now < next_probe_) return next_probe_ - now;
    next_probe_ = now + kProbeInterval;
    granted.breaker_ = this;
    granted.next_ = next_probe_;
  }
  probe = std::move(granted);  // without the lock, because it returns an earlier probe
  return std::nullopt;
}

void Breaker::Count(const UpstreamOutcome& outcome, absl::Duration duration, absl::Time now) {
  const std::optional<bool> failed = HasFailed(outcome, duration);
  if (!failed.has_value()) return;
  const MutexLock lock(mutex_);
  if (open_) {
    if (!*failed) SetOpen(false);
    return;
  }
  recent_.Add(*failed ? kFailure : kSuccess, now);
  if (!*failed) return;
  const auto [successes, failures] = recent_.Sum(now);
  if (successes + failures < kLeastExchanges || failures < successes) return;
  next_probe_ = now + kProbeInterval;
  SetOpen(true);
}

void Breaker::SetOpen(bool open) {
  open_ = open;
  recent_.Clear();
  shown_open_.Set(open ? 1 : 0);
  if (observe_open_) observe_open_(open);
}

}  // namespace stampgate
