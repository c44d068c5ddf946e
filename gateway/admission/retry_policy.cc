#include "gateway/admission/retry_policy.h"

#include <algorithm>
#include <cmath>

#include "translate/upstream_error.h"

namespace stampgate {
namespace {

using Cause = TransportFailure::Cause;

constexpr int kQueryAttempts = 3;
constexpr int kSubmitAttempts = 2;
constexpr absl::Duration kFirstDelay = absl::Milliseconds(100);
constexpr absl::Duration kLongestDelay = absl::Seconds(2);

std::optional<RetryCause> CauseOf(const TransportFailure& failure) {
  if (failure.goes_on) return std::nullopt;
  switch (failure.cause) {
    case Cause::kUnreachable:
    case Cause::kTls:
    case Cause::kBroken:
    case Cause::kTimeout:
      return failure.body_sent ? RetryCause::kBroken : RetryCause::kUnreachable;
    case Cause::kNoSlot:
    case Cause::kCancelled:
    case Cause::kTooLarge:
    case Cause::kNoMemory:
    case Cause::kShutdown:
      break;
  }
  return std::nullopt;
}

std::optional<RetryCause> CauseOf(const HttpAnswer& answer) {
  if (IsRateLimit(answer)) return RetryCause::kRateLimited;
  if (IsHardQuota(answer)) return std::nullopt;
  if (IsProxyFailure(answer.status)) return RetryCause::kUnavailable;
  return answer.status == 500 ? std::optional(RetryCause::kError) : std::nullopt;
}

// Returns the largest number of attempts of a request after this cause.
int MostAttempts(RetryCause cause, RequestKind kind) {
  if (kind == RequestKind::kQuery) return cause == RetryCause::kError ? 2 : kQueryAttempts;
  if (cause == RetryCause::kUnreachable) return kSubmitAttempts;
  return kind == RequestKind::kFixedSubmit && cause != RetryCause::kError ? kSubmitAttempts : 1;
}

}  // namespace

std::optional<RetryCause> CauseToRetry(const UpstreamOutcome& outcome, RequestKind kind, int attempts) {
  const std::optional<RetryCause> cause =
      std::visit([](const auto& end) -> std::optional<RetryCause> { return CauseOf(end); }, outcome);
  if (!cause.has_value() || attempts >= MostAttempts(*cause, kind)) return std::nullopt;
  return cause;
}

absl::Duration RetryDelay(const UpstreamOutcome& outcome, int attempts, const std::function<uint64_t()>& random) {
  const absl::Duration longest = std::min(kFirstDelay * std::exp2(attempts - 1), kLongestDelay);
  // The 53 bits of a double.
  const double part = static_cast<double>(random() >> 11) / static_cast<double>(uint64_t{1} << 53);
  absl::Duration delay = longest * part;
  if (const auto* answer = std::get_if<HttpAnswer>(&outcome); answer != nullptr) {
    delay += answer->retry_after.value_or(absl::ZeroDuration());
  }
  return delay;
}

}  // namespace stampgate
