#include "gateway/admin/liveness.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/process/log.h"

namespace stampgate {

void Liveness::Start(std::function<absl::Status()> check, absl::Duration interval) {
  check_ = std::move(check);
  Check();
  task_ = std::make_unique<PeriodicTask>("liveness", interval, [this] { Check(); });
}

void Liveness::Drain() {
  {
    MutexLock lock(mutex_);
    draining_ = true;
  }
  task_ = nullptr;  // waits for a check in progress
}

void Liveness::Check() {
  {
    MutexLock lock(mutex_);
    if (draining_) return;
  }
  const absl::Status status = check_();
  MutexLock lock(mutex_);
  if (draining_) return;
  const bool was_ok = !last_.has_value() || last_->ok();
  if (was_ok && !status.ok())
    Log(Severity::kWarning, "self_check_failed", {{"message", std::string(status.message())}});
  if (!was_ok && status.ok()) Log(Severity::kInfo, "self_check_works_again", {});
  last_ = status;
  checked_ = now_();
}

AdminAnswer Liveness::Answer() const {
  MutexLock lock(mutex_);
  if (draining_) return {200, "draining\n"};
  if (!last_.has_value()) return {503, "the gateway is starting\n"};
  if (!last_->ok()) return {503, absl::StrCat(last_->message(), "\n")};
  if (now_() - checked_ > kMaxSilence) return {503, "the check of the gRPC port has not ended in time\n"};
  return {200, "alive\n"};
}

}  // namespace stampgate
