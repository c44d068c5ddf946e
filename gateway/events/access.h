// Which events a caller may see.
#ifndef STAMPGATE_GATEWAY_EVENTS_ACCESS_H_
#define STAMPGATE_GATEWAY_EVENTS_ACCESS_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/call_record.h"
#include "gateway/events/identity.h"
#include "webhooks/log/event_filter.h"

namespace stampgate {

// A caller, and what it may see by one method.
struct EventAccess {
  KnownCaller caller;
  std::shared_ptr<const OrganizationIds> visible;  // as in EventFilter

  // A filter that passes what the caller may see.
  EventFilter Filter() const;

  bool HasTokenEnded(absl::Time now) const { return now >= caller.until; }
};

// Called once.
using OnEventAccess = absl::AnyInvocable<void(absl::StatusOr<EventAccess>)>;

// Finds the caller and what it may see by the record's method, and writes both into `record`: the caller's name, or a
// denial. `identity` and `record` must stay until `done` has been called: at once, or on another thread. Errors: those
// of Authenticate, and Denied() if no grant of the caller has the method.
void AuthorizeEvents(const CallIdentity& identity, CallRecord& record, OnEventAccess done);

// The same at the beginning of a call: also records that the call is allowed. Further errors: those of
// CallAudit::AllowRead.
void BeginEvents(const CallIdentity& identity, CallRecord& record, OnEventAccess done);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_ACCESS_H_
