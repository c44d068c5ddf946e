// The shared subscriptions of the config: creates them, applies reloads, and ends them.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CONFIGURED_SUBSCRIPTIONS_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CONFIGURED_SUBSCRIPTIONS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/callers/access.h"
#include "gateway/feed/source.h"
#include "gateway/metrics/registry.h"
#include "gateway/process/periodic_task.h"
#include "gateway/subscriptions/hold_keeper.h"
#include "gateway/subscriptions/served_subscription.h"
#include "gateway/subscriptions/settings_in_force.h"
#include "gateway/subscriptions/subscription_metrics.h"
#include "gateway/subscriptions/subscription_set.h"
#include "stampgate/config/v1/config.pb.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_holds.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// Thread-safe. A subscription that the config no longer declares ends, and its state stays in the store until somebody
// deletes it.
class ConfiguredSubscriptions : public SubscriptionSet {
 public:
  // Each pointer except `holds` is not null, and must outlive this.
  struct Options {
    EventLog* log = nullptr;
    SubscriptionStore* store = nullptr;  // of `log`
    SubscriptionHolds* holds = nullptr;  // of `log`; null if no other gateway can use it
    EventSource* source = nullptr;       // reads `log`
    const CurrentAccess* access = nullptr;
    MetricRegistry* metrics = nullptr;
    std::function<absl::Time()> now;
  };

  // Creates the subscriptions that the config in force declares: those that the store does not have begin where their
  // `start` says. With holds, the settings of other gateways can apply: see settings_in_force.h. Leaves out those whose
  // state is damaged, until their state was deleted. Blocks. Errors: those of SubscriptionStore::Load,
  // EventLog::NewReader and EventReader, and of a write to the store; with holds, kUnavailable is none: the
  // subscriptions begin when the store answers.
  static absl::StatusOr<std::unique_ptr<ConfiguredSubscriptions>> Open(Options options);
  // Closes it.
  ~ConfiguredSubscriptions() override;

  std::shared_ptr<const DeclaredSubscription> Find(absl::string_view name) const override;
  std::vector<std::shared_ptr<const DeclaredSubscription>> All() const override;
  std::vector<std::string> Undeclared() const override;
  void Delete(const std::string& name, absl::AnyInvocable<void(absl::Status)> done) override;

  // From now on, each Next of a consumer ends with SHUTTING_DOWN. Does not wait.
  void Drain();
  // Writes what the store does not have. Must be called after all calls have ended. Blocks until the store has
  // answered.
  void Close();

 private:
  struct Entry {
    std::shared_ptr<const DeclaredSubscription> declared;
    std::shared_ptr<SubscriptionMetrics> metrics;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  struct Deletion {
    std::string name;
    absl::AnyInvocable<void(absl::Status)> done;
  };

  explicit ConfiguredSubscriptions(Options options);

  // Returns what the store has. With holds, only the names count, because each hold brings the state of its partitions.
  absl::StatusOr<SubscriptionStates> Stored();
  // Applies the config in force. Used by Open, and then only by the thread of `task_`, as are the next functions.
  absl::Status Apply();
  // Returns the settings that apply. `stored` are the states that the store has. Creates the subscription if it has no
  // state.
  absl::StatusOr<SettingsInForce::Settings> FindSettings(const config::v1::Subscription& config,
                                                         SubscriptionStates& stored);
  // `count` is the number of all subscriptions.
  Entry Begin(const SettingsInForce::Settings& settings, size_t count, const SubscriptionStates& stored);
  absl::StatusOr<SubscriptionState> Create(const config::v1::Subscription& config);
  absl::StatusOr<Position> FindStart(const config::v1::Subscription& config);
  void End(ServedSubscription& subscription, const absl::Status& why);
  void KeepUndeclared(const SubscriptionStates& stored, const Access& access);
  // Returns when the store has answered.
  absl::Status Write(SubscriptionChange change);
  absl::Status DeleteState(const std::string& name);
  void Work();
  void LookForTrimmed(const Entries& entries);
  void Show(const Entries& entries);

  Entries entries() const;

  const Options options_;
  Gauge& not_served_;
  std::shared_ptr<const Access> applied_;
  absl::Time slow_work_at_ = absl::InfinitePast();
  absl::Status failure_;  // of the latest Apply, which is then repeated with the slow work
  mutable Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> undeclared_ ABSL_GUARDED_BY(mutex_);
  std::vector<Deletion> deletions_ ABSL_GUARDED_BY(mutex_);  // that Work has not begun
  // These two are set if there are holds.
  std::optional<SettingsInForce> settings_;  // used only as Apply
  std::optional<HoldKeeper> keeper_;
  std::optional<PeriodicTask> task_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CONFIGURED_SUBSCRIPTIONS_H_
