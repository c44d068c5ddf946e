#include "gateway/events/access.h"

#include <utility>

#include "gateway/callers/denial.h"

namespace stampgate {

EventFilter EventAccess::Filter() const {
  EventFilter filter;
  filter.visible = visible;
  return filter;
}

void AuthorizeEvents(const CallIdentity& identity, CallRecord& record, OnEventAccess done) {
  identity.find([&identity, &record, done = std::move(done)](absl::StatusOr<KnownCaller> caller) mutable {
    if (!caller.ok()) {
      record.DenyStranger(identity.stranger(), caller.status());
      return done(caller.status());
    }
    record.SetCaller(*caller);
    const OrganizationSet& granted = caller->caller->OrganizationsOf(record.method());
    if (granted.all) return done(EventAccess{*std::move(caller), nullptr});
    if (granted.empty()) {
      const ApiMethod& method = *caller->access->operations->set().FindMethod(record.method());
      Caller::Decision decided = DecideByMethod(*caller->caller, method);
      // For example, the organizations_file of the only grant is empty.
      if (decided.allowed)
        decided = {false, "", "no grant has this method for any organization", Grant::Fit::kNotTheOrganization};
      AuditDecision decision;
      decision.reason = decided.why;
      record.audit().Deny(*caller, std::move(decision));
      return done(Denied(*caller->caller, method, decided));
    }
    auto visible = std::make_shared<const OrganizationTest>(
        [access = caller->access, &granted](absl::string_view id) { return granted.Contains(id); });
    done(EventAccess{*std::move(caller), std::move(visible)});
  });
}

void AdmitEvents(const CallIdentity& identity, CallRecord& record, std::weak_ptr<Dismissable> call,
                 OnEventAccess done) {
  AuthorizeEvents(
      identity, record,
      [&identity, call = std::move(call), done = std::move(done)](absl::StatusOr<EventAccess> access) mutable {
        if (!access.ok()) return done(std::move(access));
        if (absl::Status counted = identity.count(*access->caller.caller, std::move(call)); !counted.ok()) {
          return done(std::move(counted));
        }
        done(std::move(access));
      });
}

void BeginEvents(const CallIdentity& identity, CallRecord& record, std::weak_ptr<Dismissable> call,
                 OnEventAccess done) {
  AdmitEvents(identity, record, std::move(call),
              [&record, done = std::move(done)](absl::StatusOr<EventAccess> access) mutable {
                if (!access.ok()) return done(std::move(access));
                const KnownCaller caller = access->caller;
                record.audit().AllowRead(
                    caller, [access = *std::move(access), done = std::move(done)](const absl::Status& allowed) mutable {
                      if (!allowed.ok()) return done(allowed);
                      done(std::move(access));
                    });
              });
}

}  // namespace stampgate
