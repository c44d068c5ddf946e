#include "webhooks/log/fake_subscription_holds.h"

#include <utility>

#include "absl/status/status_macros.h"

namespace stampgate {

void FakeSubscriptionHolds::Fail(absl::Status failure) {
  const MutexLock lock(mutex_);
  failure_ = std::move(failure);
}

void FakeSubscriptionHolds::Give(Hold hold) {
  const MutexLock lock(mutex_);
  hold_ = std::move(hold);
}

void FakeSubscriptionHolds::Replace(const std::string& subscription, DeclaredSettings settings) {
  const MutexLock lock(mutex_);
  declared_[subscription] = std::move(settings);
}

void FakeSubscriptionHolds::Answer(HolderAnswer answer) {
  {
    const MutexLock lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  Wake();
}

int64_t FakeSubscriptionHolds::asked() const {
  const MutexLock lock(mutex_);
  return asked_;
}

int64_t FakeSubscriptionHolds::renewals() const {
  const MutexLock lock(mutex_);
  return renewals_;
}

std::set<std::string> FakeSubscriptionHolds::ended() const {
  const MutexLock lock(mutex_);
  return ended_;
}

absl::Status FakeSubscriptionHolds::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

absl::StatusOr<DeclaredSettings> FakeSubscriptionHolds::Declare(const SubscriptionDeclaration& declaration) {
  ABSL_RETURN_IF_ERROR(failure());
  const MutexLock lock(mutex_);
  const auto [it, is_new] = declared_.try_emplace(declaration.subscription);
  DeclaredSettings& declared = it->second;
  declared.is_new = is_new;
  if (is_new) declared.order = declaration.order;
  if (is_new || declaration.version > declared.version) {
    declared.version = declaration.version;
    declared.settings = declaration.settings;
  }
  return declared;
}

absl::StatusOr<Hold> FakeSubscriptionHolds::Renew(const HoldRenewal& renewal) {
  ABSL_RETURN_IF_ERROR(failure());
  const MutexLock lock(mutex_);
  ++renewals_;
  return hold_;
}

absl::Status FakeSubscriptionHolds::End(const std::string& subscription, absl::Duration sent_for) {
  ABSL_RETURN_IF_ERROR(failure());
  const MutexLock lock(mutex_);
  ended_.insert(subscription);
  return absl::OkStatus();
}

absl::Status FakeSubscriptionHolds::Seek(const std::string& subscription, Position position) { return failure(); }

absl::StatusOr<int64_t> FakeSubscriptionHolds::Ask(const std::string& subscription, size_t partition,
                                                   const std::string& request) {
  ABSL_RETURN_IF_ERROR(failure());
  const MutexLock lock(mutex_);
  return ++asked_;
}

absl::StatusOr<std::vector<HolderRequest>> FakeSubscriptionHolds::Requests() {
  ABSL_RETURN_IF_ERROR(failure());
  return std::vector<HolderRequest>();
}

absl::StatusOr<std::vector<HolderAnswer>> FakeSubscriptionHolds::TakeAnswers() {
  ABSL_RETURN_IF_ERROR(failure());
  const MutexLock lock(mutex_);
  return std::exchange(answers_, {});
}

absl::StatusOr<std::set<std::string>> FakeSubscriptionHolds::Names() {
  ABSL_RETURN_IF_ERROR(failure());
  const MutexLock lock(mutex_);
  std::set<std::string> names;
  for (const auto& [name, settings] : declared_) names.insert(name);
  return names;
}

absl::StatusOr<std::vector<SubscriptionRow>> FakeSubscriptionHolds::Parked(const std::string& subscription,
                                                                           Position after, size_t most) {
  ABSL_RETURN_IF_ERROR(failure());
  return std::vector<SubscriptionRow>();
}

absl::StatusOr<std::vector<SubscriptionRow>> FakeSubscriptionHolds::ParkedAt(const std::string& subscription,
                                                                             const std::vector<Position>& positions) {
  ABSL_RETURN_IF_ERROR(failure());
  return std::vector<SubscriptionRow>();
}

bool FakeSubscriptionHolds::Await(std::chrono::steady_clock::time_point deadline) {
  const MutexLock lock(mutex_);
  while (!has_news_ && std::chrono::steady_clock::now() < deadline) woken_.WaitUntil(mutex_, deadline);
  has_news_ = false;
  return false;
}

void FakeSubscriptionHolds::Wake() {
  {
    const MutexLock lock(mutex_);
    has_news_ = true;
  }
  woken_.WakeAll();
}

}  // namespace stampgate
