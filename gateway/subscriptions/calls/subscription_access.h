// Decides which subscriptions a caller may use.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_SUBSCRIPTION_ACCESS_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_SUBSCRIPTION_ACCESS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gateway/callers/authenticator.h"
#include "gateway/callers/caller.h"
#include "gateway/calls/call_record.h"
#include "gateway/subscriptions/subscription_set.h"

namespace stampgate {

// Whether the config lists `caller` for the subscription, and a grant of the caller has `method` for all organizations
// of the subscription.
bool MayUse(const DeclaredSubscription& subscription, const Caller& caller, absl::string_view method);

// Whether a grant of the caller has `method` for all organizations, so that the caller may know the names of the
// subscriptions that the config does not declare.
bool MayUseUndeclared(const Caller& caller, absl::string_view method);

// Returns NOT_FOUND (SUBSCRIPTION_NOT_FOUND).
absl::Status SubscriptionNotFound(absl::string_view name, const Caller& caller);

// Finds the subscription `name` of `set`, which may be null, for a call of `caller`. Records a denial in `record`.
// Errors: NOT_FOUND (SUBSCRIPTION_NOT_FOUND) if the config declares no such subscription for the caller; UNAVAILABLE
// (EVENT_LOG_UNAVAILABLE) if it declares one that `set` does not have, because its state is damaged or not created yet;
// PERMISSION_DENIED (DENIED_BY_POLICY) if MayUse is false.
absl::StatusOr<std::shared_ptr<const DeclaredSubscription>> FindSubscription(const SubscriptionSet* set,
                                                                             absl::string_view name,
                                                                             const KnownCaller& caller,
                                                                             CallRecord& record);

// Admits a call about the subscription `name`, which the config does not declare. Records a denial in `record`. Errors:
// PERMISSION_DENIED (DENIED_BY_POLICY) if MayUseUndeclared is false.
absl::Status AdmitUndeclared(absl::string_view name, const KnownCaller& caller, CallRecord& record);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_CALLS_SUBSCRIPTION_ACCESS_H_
