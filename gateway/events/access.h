// Decides which events a caller may see.
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

// A caller, and the organizations whose events it may see by one method.
struct EventAccess {
  KnownCaller caller;
  std::shared_ptr<const OrganizationIds> visible;  // as in EventFilter

  // Returns a filter that passes the events that the caller may see.
  EventFilter Filter() const;

  bool HasTokenEnded(absl::Time now) const { return now >= caller.until; }
};

// Must be called exactly once.
using OnEventAccess = absl::AnyInvocable<void(absl::StatusOr<EventAccess>)>;

// Finds the caller, and which events it may see by the method of `record`. Writes the caller's name or the denial into
// `record`. Calls `done` before it returns, or later on another thread; `identity` and `record` must stay valid until
// then. Errors: those of Authenticate, and Denied() if no grant of the caller has the method.
void AuthorizeEvents(const CallIdentity& identity, CallRecord& record, OnEventAccess done);

// Like AuthorizeEvents, for the beginning of a call: also records that the call is allowed. Its further errors are
// those of CallAudit::AllowRead.
void BeginEvents(const CallIdentity& identity, CallRecord& record, OnEventAccess done);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_ACCESS_H_
