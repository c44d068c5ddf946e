// The shared subscriptions of the config: creates them, applies reloads, and ends them.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CONFIGURED_SUBSCRIPTIONS_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CONFIGURED_SUBSCRIPTIONS_H_

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
#include "gateway/subscriptions/served_subscription.h"
#include "gateway/subscriptions/subscription_metrics.h"
#include "gateway/subscriptions/subscription_set.h"
#include "stampgate/config/v1/config.pb.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {

// Thread-safe. A subscription that the config no longer declares ends, and its state stays in the store until somebody
// deletes it.
class ConfiguredSubscriptions : public SubscriptionSet {
 public:
  // Each pointer is not null, and must outlive this.
  struct Options {
    EventLog* log = nullptr;
    SubscriptionStore* store = nullptr;  // of `log`
    EventSource* source = nullptr;       // reads `log`
    const CurrentAccess* access = nullptr;
    MetricRegistry* metrics = nullptr;
    std::function<absl::Time()> now;
  };

  // Creates the subscriptions that the config in force declares: those that the store does not have begin where their
  // `start` says. Leaves out those whose state is damaged, until their state was deleted. Blocks. Errors: those of
  // SubscriptionStore::Load, EventLog::NewReader and EventReader, and of a write to the store.
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

  explicit ConfiguredSubscriptions(Options options)
      : options_(std::move(options)),
        not_served_(options_.metrics->AddGauge(
            "stampgate_subscriptions_not_served",
            "Shared subscriptions that the config declares and the gateway does not serve.")) {}

  // Applies the config in force. Used by Open, and then only by the thread of `task_`, as are the next functions.
  absl::Status Apply();
  // `stored` are the states that the store has.
  absl::StatusOr<Entry> Begin(const config::v1::Subscription& config, ServedSubscription::Settings settings,
                              const SubscriptionStates& stored);
  absl::StatusOr<SubscriptionState> Create(const config::v1::Subscription& config);
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
  std::optional<PeriodicTask> task_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CONFIGURED_SUBSCRIPTIONS_H_
