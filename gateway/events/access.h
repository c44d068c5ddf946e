// Who may see which events.
#ifndef STAMPGATE_GATEWAY_EVENTS_ACCESS_H_
#define STAMPGATE_GATEWAY_EVENTS_ACCESS_H_

#include <grpcpp/server_context.h>

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "gateway/callers/access.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/call_record.h"
#include "webhooks/log/event_filter.h"

namespace stampgate {

inline constexpr char kSubscribe[] = "/stampgate.v1.EventService/Subscribe";
inline constexpr char kListEvents[] = "/stampgate.v1.EventService/ListEvents";
inline constexpr char kGetEvent[] = "/stampgate.v1.EventService/GetEvent";
inline constexpr char kReadEventBody[] = "/stampgate.v1.EventService/ReadEventBody";

// What a caller may see.
struct EventAccess {
  KnownCaller caller;
  std::shared_ptr<const OrganizationIds> visible;  // as in EventFilter

  // Passes what the caller may see.
  EventFilter Filter() const;
};

// Finds out who makes the call of `context`, names the caller to `record`, and finds out which events the record's
// method may give the caller. `context` and `record` stay until `done` was called: at once, or on another thread.
// Errors, which are recorded: those of Authenticate, and Denied() if the caller has no grant of the method.
void AuthorizeEvents(const CurrentAccess& current, const grpc::CallbackServerContext& context, CallRecord& record,
                     absl::AnyInvocable<void(absl::StatusOr<EventAccess>)> done);

// The same at the beginning of a call: also records that it may go on. Errors besides: those of CallAudit::AllowRead.
void BeginEvents(const CurrentAccess& current, const grpc::CallbackServerContext& context, CallRecord& record,
                 absl::AnyInvocable<void(absl::StatusOr<EventAccess>)> done);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_ACCESS_H_
