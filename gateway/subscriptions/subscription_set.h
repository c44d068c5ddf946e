// The shared subscriptions of the config.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_SUBSCRIPTION_SET_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_SUBSCRIPTION_SET_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/subscriptions/served_subscription.h"

namespace stampgate {

// A subscription with what the config says about its callers. Immutable.
struct DeclaredSubscription {
  std::shared_ptr<ServedSubscription> served;
  std::set<std::string, std::less<>> callers;
  // The organizations of its events; if empty, all.
  std::set<std::string, std::less<>> organizations;
};

// Thread-safe.
class SubscriptionSet {
 public:
  virtual ~SubscriptionSet() = default;

  // Returns the subscription that the config in force declares; null if it declares none of this name, or one that
  // cannot be served.
  virtual std::shared_ptr<const DeclaredSubscription> Find(absl::string_view name) const = 0;
  // Returns all of them, ordered by name.
  virtual std::vector<std::shared_ptr<const DeclaredSubscription>> All() const = 0;

  // Returns the names of the subscriptions whose state the store has although the config in force does not declare
  // them, in order.
  virtual std::vector<std::string> Undeclared() const = 0;
  // Deletes the state of such a subscription. Does not block. Calls `done` once, on any thread, when the store no
  // longer has the state. Errors: NOT_FOUND (SUBSCRIPTION_NOT_FOUND) if the store has no such subscription;
  // FAILED_PRECONDITION (SUBSCRIPTION_DECLARED) if the config declares it; UNAVAILABLE (EVENT_LOG_UNAVAILABLE) if the
  // store cannot be read or written.
  virtual void Delete(const std::string& name, absl::AnyInvocable<void(absl::Status)> done) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_SUBSCRIPTION_SET_H_
