#include "gateway/event_access.h"

#include <utility>

#include "gateway/authenticator.h"
#include "gateway/denial.h"

namespace stampgate {

bool EventAccess::MaySee(const Event& event) const {
  EventFilter filter;
  filter.visible = visible;
  return filter.Matches(event.organization_id, event.parent_organization_id, event.type);
}

void AuthorizeEvents(const CurrentAccess& current, const grpc::CallbackServerContext& context, const char* method,
                     absl::AnyInvocable<void(absl::StatusOr<EventAccess>)> done) {
  Authenticate(current, context, [method, done = std::move(done)](absl::StatusOr<KnownCaller> caller) mutable {
    if (!caller.ok()) return done(caller.status());
    const OrganizationSet& granted = caller->caller->OrganizationsOf(method);
    if (granted.all) return done(EventAccess{std::move(caller->access), nullptr});
    if (granted.ids.empty()) return done(Denied());
    std::shared_ptr<const OrganizationIds> visible(caller->access, &granted.ids);
    done(EventAccess{std::move(caller->access), std::move(visible)});
  });
}

}  // namespace stampgate
