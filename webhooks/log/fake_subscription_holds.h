// What gateways share, in memory, for tests, which decide what it answers.
#ifndef STAMPGATE_WEBHOOKS_LOG_FAKE_SUBSCRIPTION_HOLDS_H_
#define STAMPGATE_WEBHOOKS_LOG_FAKE_SUBSCRIPTION_HOLDS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_holds.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// Thread-safe.
class FakeSubscriptionHolds : public SubscriptionHolds {
 public:
  // From now on, each function that can fail returns this.
  void Fail(absl::Status failure);
  // From now on, Renew returns this hold.
  void Give(Hold hold);
  // From now on, the subscription has these settings. Declare changes them only if it has a higher version.
  void Replace(const std::string& subscription, DeclaredSettings settings);
  // From now on, TakeAnswers returns this answer.
  void Answer(HolderAnswer answer);

  int64_t asked() const;  // how many requests; their ids are 1, 2, 3, ...
  int64_t renewals() const;
  std::set<std::string> ended() const;

  absl::StatusOr<DeclaredSettings> Declare(const SubscriptionDeclaration& declaration) override;
  absl::StatusOr<Hold> Renew(const HoldRenewal& renewal) override;
  absl::Status End(const std::string& subscription, absl::Duration sent_for) override;
  absl::Status Seek(const std::string& subscription, Position position) override;
  absl::StatusOr<int64_t> Ask(const std::string& subscription, size_t partition, const std::string& request) override;
  absl::StatusOr<std::vector<HolderRequest>> Requests() override;
  absl::StatusOr<std::vector<HolderAnswer>> TakeAnswers() override;
  absl::StatusOr<std::set<std::string>> Names() override;
  absl::StatusOr<std::vector<SubscriptionRow>> Parked(const std::string& subscription, Position after,
                                                      size_t most) override;
  absl::StatusOr<std::vector<SubscriptionRow>> ParkedAt(const std::string& subscription,
                                                        const std::vector<Position>& positions) override;
  bool Await(std::chrono::steady_clock::time_point deadline) override;
  void Wake() override;

 private:
  absl::Status failure() const;

  mutable Mutex mutex_;
  Condition woken_;  // also when Await must return for another reason
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  Hold hold_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, DeclaredSettings> declared_ ABSL_GUARDED_BY(mutex_);
  std::vector<HolderAnswer> answers_ ABSL_GUARDED_BY(mutex_);
  int64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t renewals_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<std::string> ended_ ABSL_GUARDED_BY(mutex_);
  bool has_news_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_FAKE_SUBSCRIPTION_HOLDS_H_
