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

// A caller, and the organizations whose events the caller may see by one method.
struct EventAccess {
  KnownCaller caller;
  std::shared_ptr<const OrganizationTest> visible;  // of these organizations, or null for all, as in EventFilter

  // Returns a filter that passes the events that the caller may see.
  EventFilter Filter() const;

  bool HasTokenEnded(absl::Time now) const { return now >= caller.until; }
};

// Receives the access of a caller. Must be called exactly once.
using OnEventAccess = absl::AnyInvocable<void(absl::StatusOr<EventAccess>)>;

// Identifies the caller, and finds which events the caller may see by the method of `record`. Records the caller's name
// or the denial in `record`. Calls `done` before AuthorizeEvents returns, or later on another thread; `identity` and
// `record` must stay valid until then. Errors: those of Authenticate, and Denied() if no grant of the caller has the
// method.
void AuthorizeEvents(const CallIdentity& identity, CallRecord& record, OnEventAccess done);

// Does the same as AuthorizeEvents at the beginning of a call. Also counts the call for its caller. `call` is set if
// the call can be dismissed. Errors: those of AuthorizeEvents and of CallsInFlight::SetCaller.
void AdmitEvents(const CallIdentity& identity, CallRecord& record, std::weak_ptr<Dismissable> call, OnEventAccess done);

// Does the same as AdmitEvents, and records that the call is allowed. Errors: those of AdmitEvents and of
// CallAudit::AllowRead.
void BeginEvents(const CallIdentity& identity, CallRecord& record, std::weak_ptr<Dismissable> call, OnEventAccess done);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_ACCESS_H_
