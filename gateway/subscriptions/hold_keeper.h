// Keeps the holds of the shared subscriptions that a gateway serves, and exchanges requests with other gateways.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_HOLD_KEEPER_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_HOLD_KEEPER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/threads/mutex.h"
#include "gateway/subscriptions/served_subscription.h"
#include "webhooks/log/subscription_holds.h"

namespace stampgate {

// Thread-safe. Has a thread, which alone uses the SubscriptionHolds.
class HoldKeeper {
 public:
  struct Options {
    SubscriptionHolds* holds = nullptr;  // must outlive this
    // How long an answer may take. A gateway that is gone loses its partitions sooner.
    std::chrono::steady_clock::duration answer_within = std::chrono::seconds(15);
    // These are called on the keeper's thread. This reports that a hold was not renewed, or not ended, for another
    // reason than the time before, or that there is no such subscription.
    std::function<void(const std::string& subscription, const absl::Status& why)> on_not_renewed;
    // Reports that the subscription has another incarnation than the time before: somebody has called Seek, or has
    // deleted it and declared it again.
    std::function<void(const std::string& subscription)> on_other_incarnation;
    // Passes the settings of a subscription that differ from those that the gateway uses, each second.
    std::function<void(const std::string& subscription, const DeclaredSettings& settings)> on_settings;
  };

  explicit HoldKeeper(Options options);
  // Ends the thread. The holds that are left end later, when their time is over.
  ~HoldKeeper();
  HoldKeeper(const HoldKeeper&) = delete;
  HoldKeeper& operator=(const HoldKeeper&) = delete;

  // From now on, the subscription serves the partitions of a hold, which is renewed each second.
  void Add(std::shared_ptr<ServedSubscription> subscription);

  // Ends the hold of a subscription, which must have been closed, so that others can take its partitions at once.
  // Blocks until the store has answered.
  void Remove(const std::string& name);

  // See SubscriptionHolds. Blocks until the store has answered.
  absl::StatusOr<DeclaredSettings> Declare(const SubscriptionDeclaration& declaration);

  // Returns what the subscription does with the other gateways. It must not be used after the keeper has ended.
  ServedSubscription::Peers PeersOf(const std::string& name);

 private:
  using Clock = std::chrono::steady_clock;
  using OnAnswer = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

  struct Question {
    std::string subscription;
    size_t partition = 0;
    std::string request;
    OnAnswer done;
    Clock::time_point until;
  };
  void Run();
  void WakeThread();
  // Lets the thread run a function.
  void Post(absl::AnyInvocable<void()> task);
  void RunPosted();
  void RenewAll();
  // Returns whether the subscription has its hold now.
  bool Renew(ServedSubscription& subscription);
  void NoteFailure(const std::string& name, const absl::Status& status);
  void AskNew();
  void Exchange();

  std::map<std::string, std::shared_ptr<ServedSubscription>> served() const;

  const Options options_;
  std::map<int64_t, Question> asked_;             // by the ids of the requests; used only by the thread
  Clock::time_point renewed_at_;                  // used only by the thread
  Clock::time_point renew_at_;                    // used only by the thread
  std::map<std::string, absl::Status> failures_;  // of the latest renewals; used only by the thread
  std::map<std::string, int64_t> incarnations_;   // also of them

  mutable Mutex mutex_;
  Condition changed_;  // of what the mutex guards
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_new_ ABSL_GUARDED_BY(mutex_) = false;  // a subscription whose hold was not renewed yet
  std::map<std::string, std::shared_ptr<ServedSubscription>> served_ ABSL_GUARDED_BY(mutex_);
  std::vector<Question> questions_ ABSL_GUARDED_BY(mutex_);  // that the thread has not asked yet
  std::vector<absl::AnyInvocable<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_HOLD_KEEPER_H_
