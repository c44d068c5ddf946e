#include "gateway/admission/breaker.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;

// Returns whether an exchange has failed; nothing if that is unknown.
std::optional<bool> HasFailed(const UpstreamOutcome& outcome, absl::Duration duration) {
  if (const auto* answer = std::get_if<HttpAnswer>(&outcome); answer != nullptr) {
    return answer->status >= 500 && answer->status != 501;
  }
  switch (std::get<TransportFailure>(outcome).cause) {
    case Cause::kUnreachable:
    case Cause::kTls:
    case Cause::kBroken:
      return true;
    case Cause::kTimeout:
      if (duration >= Breaker::kPatience) return true;
      break;
    case Cause::kTooLarge:
      return false;
    case Cause::kNoPlace:
    case Cause::kCancelled:
    case Cause::kShutdown:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<absl::Duration> Breaker::Refuse(absl::Time now) {
  const std::lock_guard lock(mutex_);
  if (!open_) return std::nullopt;
  if (now < next_probe_) return next_probe_ - now;
  next_probe_ = now + kProbeInterval;
  return std::nullopt;
}

void Breaker::Count(const UpstreamOutcome& outcome, absl::Duration duration, absl::Time now) {
  const std::optional<bool> failed = HasFailed(outcome, duration);
  if (!failed.has_value()) return;
  const std::lock_guard lock(mutex_);
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
  if (observe_open_) observe_open_(open);
}

}  // namespace stampgate
