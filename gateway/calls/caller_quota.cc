#include "gateway/calls/caller_quota.h"

#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "translate/error.h"

namespace stampgate {

absl::StatusOr<CallerShare> CallerQuota::Take(size_t amount) {
  {
    MutexLock lock(mutex_);
    if (amount <= options_.max && taken_ <= options_.max - amount) {
      taken_ += amount;
      return CallerShare(*this, amount);
    }
  }
  return Refusal("the gateway", options_.max);
}

absl::StatusOr<CallerShare> CallerQuota::TakeFor(absl::string_view caller, size_t amount) {
  absl::StatusOr<CallerShare> share = Take(amount);
  if (!share.ok()) return share;
  ABSL_RETURN_IF_ERROR(share->SetCaller(caller));
  return share;
}

size_t CallerQuota::taken() const {
  MutexLock lock(mutex_);
  return taken_;
}

absl::Status CallerQuota::Refusal(absl::string_view holder, size_t max) const {
  Error error = GatewayError(
      absl::StatusCode::kResourceExhausted, options_.reason,
      absl::StrCat(holder, " may have at most ", max, " ", options_.what, " at the same time", options_.effect));
  error.retry_delay = options_.retry_delay;
  return ToStatus(error);
}

CallerShare::CallerShare(CallerShare&& other) noexcept
    : quota_(std::exchange(other.quota_, nullptr)), amount_(other.amount_), caller_(other.caller_) {}

CallerShare& CallerShare::operator=(CallerShare&& other) noexcept {
  std::swap(quota_, other.quota_);
  std::swap(amount_, other.amount_);
  std::swap(caller_, other.caller_);
  return *this;
}

CallerShare::~CallerShare() {
  if (quota_ == nullptr) return;
  MutexLock lock(quota_->mutex_);
  quota_->taken_ -= amount_;
  if (!caller_.has_value()) return;
  (*caller_)->second -= amount_;
  if ((*caller_)->second == 0) quota_->callers_.erase(*caller_);
}

absl::Status CallerShare::SetCaller(absl::string_view caller) {
  // A share of nothing must not refer to the caller's entry, which exists only while the caller holds something.
  if (amount_ == 0 || caller_.has_value()) return absl::OkStatus();
  const size_t max = quota_->options_.max_per_caller;
  {
    MutexLock lock(quota_->mutex_);
    auto held = quota_->callers_.find(caller);
    const size_t before = held == quota_->callers_.end() ? 0 : held->second;
    if (amount_ <= max && before <= max - amount_) {
      if (held == quota_->callers_.end()) held = quota_->callers_.emplace(caller, 0).first;
      held->second += amount_;
      caller_ = held;
      return absl::OkStatus();
    }
  }
  return quota_->Refusal(absl::StrCat("caller ", caller), max);
}

}  // namespace stampgate
