// The settings of shared subscriptions that apply where several gateways share a store.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_SETTINGS_IN_FORCE_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_SETTINGS_IN_FORCE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/threads/mutex.h"
#include "stampgate/config/v1/config.pb.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/subscription_holds.h"

namespace stampgate {

// During a rollout, gateways have different configs, but a subscription has one set of settings at each moment: those
// of the config with the highest `version`. Of two configs with the same version, the one that came first applies. Only
// one thread at a time may call the functions that are not said to be thread-safe.
class SettingsInForce {
 public:
  struct Settings {
    config::v1::Subscription config;
    int64_t version = 0;  // as in the store
    int64_t order = 0;    // see SubscriptionHead
    bool is_own = true;   // whether this gateway's config has the same settings
  };

  using Declare = std::function<absl::StatusOr<DeclaredSettings>(const SubscriptionDeclaration& declaration)>;

  // `declare` is SubscriptionHolds::Declare.
  explicit SettingsInForce(Declare declare) : declare_(std::move(declare)) {}

  // The store has these settings now. Thread-safe.
  void Report(const std::string& name, const DeclaredSettings& settings);
  // From now on, Find declares the subscription again: the store may have none with this name, or another one.
  // Thread-safe.
  void DeclareAgain(const std::string& name);
  // Takes what was reported. Returns whether Find returns something else now.
  bool Update();

  // Returns the settings that apply if this gateway's config has `own`, and logs it if they are other ones. Declares
  // `own` the first time. `find_start` returns where a new subscription begins. Blocks. Errors: those of `declare` and
  // `find_start`.
  absl::StatusOr<Settings> Find(const config::v1::Subscription& own,
                                absl::FunctionRef<absl::StatusOr<Position>()> find_start);

  // Forgets a subscription that this gateway does not declare any more.
  void Forget(const std::string& name) { declarations_.erase(name); }

 private:
  struct Declaration {
    config::v1::Subscription own;
    DeclaredSettings in_force;
    bool is_logged = false;
  };

  const Declare declare_;
  std::map<std::string, Declaration> declarations_;
  Mutex mutex_;
  // By the names; nothing for a subscription that must be declared again.
  std::map<std::string, std::optional<DeclaredSettings>> reports_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_SETTINGS_IN_FORCE_H_
