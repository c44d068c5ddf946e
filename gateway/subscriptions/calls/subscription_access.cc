#include "gateway/subscriptions/calls/subscription_access.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "gateway/callers/denial.h"
#include "gateway/feed/error.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/error.h"

namespace stampgate {
namespace {

// Records the denial, and returns the error of the call.
absl::Status Deny(absl::string_view name, const char* why, const KnownCaller& caller, CallRecord& record) {
  Caller::Decision decided;
  decided.why = why;
  decided.closest = Grant::Fit::kNotTheOrganization;
  AuditDecision decision;
  decision.subscription = std::string(name);
  decision.reason = decided.why;
  record.audit().Deny(caller, std::move(decision));
  return Denied(*caller.caller, *caller.access->operations->set().FindMethod(record.method()), decided);
}

// Whether the config declares the subscription for the caller. The gateway need not serve it: it may only be about to,
// or its state may be damaged.
bool IsDeclaredFor(const KnownCaller& caller, absl::string_view name) {
  return absl::c_any_of(caller.access->settings.subscriptions(), [&](const config::v1::Subscription& subscription) {
    return subscription.name() == name && absl::c_linear_search(subscription.callers(), caller.caller->name());
  });
}

}  // namespace

bool MayUse(const DeclaredSubscription& subscription, const Caller& caller, absl::string_view method) {
  if (!subscription.callers.contains(caller.name())) return false;
  const OrganizationSet& granted = caller.OrganizationsOf(method);
  if (subscription.organizations.empty()) return granted.all;
  return absl::c_all_of(subscription.organizations, [&granted](const auto& id) { return granted.Contains(id); });
}

bool MayUseUndeclared(const Caller& caller, absl::string_view method) { return caller.OrganizationsOf(method).all; }

absl::Status SubscriptionNotFound(absl::string_view name, const Caller& caller) {
  return ToStatus(GatewayError(
      absl::StatusCode::kNotFound, v1::ERROR_REASON_SUBSCRIPTION_NOT_FOUND,
      absl::StrCat("the gateway's config declares no subscription ", name, " for caller ", caller.name())));
}

absl::StatusOr<std::shared_ptr<const DeclaredSubscription>> FindSubscription(const SubscriptionSet* set,
                                                                             absl::string_view name,
                                                                             const KnownCaller& caller,
                                                                             CallRecord& record) {
  std::shared_ptr<const DeclaredSubscription> found = set == nullptr ? nullptr : set->Find(name);
  if (found == nullptr && IsDeclaredFor(caller, name)) return LogUnavailable();
  if (found == nullptr || !found->callers.contains(caller.caller->name())) {
    return SubscriptionNotFound(name, *caller.caller);
  }
  if (MayUse(*found, *caller.caller, record.method())) return found;
  return Deny(name, "no grant has this method for all organizations of the subscription", caller, record);
}

absl::Status AdmitUndeclared(absl::string_view name, const KnownCaller& caller, CallRecord& record) {
  if (MayUseUndeclared(*caller.caller, record.method())) return absl::OkStatus();
  return Deny(name, "no grant has this method for all organizations", caller, record);
}

}  // namespace stampgate
