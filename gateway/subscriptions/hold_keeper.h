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
    // Reports that a hold was not renewed. Called on the keeper's thread, each time.
    std::function<void(const std::string& subscription, const absl::Status& why)> on_not_renewed;
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

  // Returns what passes the requests of this subscription to other gateways. It must not be used after the keeper has
  // ended.
  ServedSubscription::Ask AskerOf(const std::string& name);

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
  struct Removal {
    std::shared_ptr<ServedSubscription> subscription;
    absl::AnyInvocable<void()> done;
  };

  void Run();
  void RenewAll();
  void AskNew();
  void EndRemoved();
  void Exchange();

  std::map<std::string, std::shared_ptr<ServedSubscription>> served() const;

  const Options options_;
  std::map<int64_t, Question> asked_;  // by the ids of the requests; used only by the thread
  Clock::time_point renew_at_;         // used only by the thread

  mutable Mutex mutex_;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_new_ ABSL_GUARDED_BY(mutex_) = false;  // a subscription whose hold was not renewed yet
  std::map<std::string, std::shared_ptr<ServedSubscription>> served_ ABSL_GUARDED_BY(mutex_);
  std::vector<Question> questions_ ABSL_GUARDED_BY(mutex_);  // that the thread has not asked yet
  std::vector<Removal> removals_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_HOLD_KEEPER_H_
