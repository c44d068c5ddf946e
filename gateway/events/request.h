// Checks the requests of the event service, and finds the place in the log at which they start.
#ifndef STAMPGATE_GATEWAY_EVENTS_REQUEST_H_
#define STAMPGATE_GATEWAY_EVENTS_REQUEST_H_

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/events/environment.h"
#include "google/protobuf/message.h"
#include "stampgate/v1/events.pb.h"
#include "webhooks/log/cursor.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Decodes and checks a request. Errors: INVALID_ARGUMENT (INVALID_REQUEST), which lists every violation. If the request
// is valid but the gateway has no event log: FAILED_PRECONDITION (EVENTS_NOT_CONFIGURED).
absl::Status ReadEventRequest(const EventEnvironment& environment, const grpc::ByteBuffer& bytes,
                              google::protobuf::Message& request);

// The form in which a request names a place in the log.
using EventStart = std::variant<Cursor, absl::Time, v1::LogEnd>;

// Returns the start that `request`, a SubscribeRequest or a ListEventsRequest, names. Errors: INVALID_ARGUMENT
// (INVALID_REQUEST, CURSOR_INVALID), FAILED_PRECONDITION (CURSOR_OF_ANOTHER_LOG).
template <typename Request>
absl::StatusOr<EventStart> StartOf(const LogIdentity& log, const Request& request);

// Returns the place that `start` means; the call must read the events after this place. Errors: those of the reader,
// and DATA_LOSS (CURSOR_AHEAD_OF_LOG) if the log does not have the event for which the cursor was made.
absl::StatusOr<EventPlace> Locate(const EventStart& start, EventReader& reader);

// Returns the name of the event for which a GetEventRequest or a ReadEventBodyRequest asks.
template <typename Request>
EventName NameOf(const Request& request) {
  EventName name{request.event_id(), std::nullopt};
  if (request.has_organization_id()) name.organization_id = request.organization_id();
  return name;
}

// Returns a filter that passes the events that match `filter` and that the caller may see. Errors: INVALID_ARGUMENT
// (INVALID_REQUEST) if the request has too many conditions.
absl::StatusOr<std::shared_ptr<const EventFilter>> FilterOf(const v1::EventFilter& filter,
                                                            std::shared_ptr<const OrganizationIds> visible);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_REQUEST_H_
