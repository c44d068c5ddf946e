#include "gateway/audit/unsent_allows.h"

#include <algorithm>

namespace stampgate {

std::optional<absl::Duration> UnsentAllows::Refuse(absl::string_view caller) {
  const MutexLock lock(mutex_);
  const auto found = callers_.find(caller);
  if (found == callers_.end()) return std::nullopt;
  const double left = LeftTo(found->second);
  if (left >= 1) return std::nullopt;
  return absl::Seconds((1 - left) / kPerSecond);
}

void UnsentAllows::SetScarce(bool scarce) {
  const MutexLock lock(mutex_);
  scarce_ = scarce;
  if (!scarce) callers_.clear();
}

void UnsentAllows::Count(absl::string_view caller, bool sent) {
  sent = sent && !scarce_;
  const MutexLock lock(mutex_);
  auto found = callers_.find(caller);
  if (found == callers_.end()) {
    if (sent) return;
    found = callers_.emplace(std::string(caller), Caller{kBurst, now_()}).first;
  }
  const double left = LeftTo(found->second) + (sent ? 1 : -1);
  if (left >= kBurst) {
    callers_.erase(found);
  } else {
    found->second = {left, now_()};
  }
}

double UnsentAllows::LeftTo(const Caller& caller) const {
  return std::min(caller.left + std::chrono::duration<double>(now_() - caller.at).count() * kPerSecond, kBurst);
}

}  // namespace stampgate
