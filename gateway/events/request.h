// Checks the requests of the event service, and finds the point in the log at which they start.
#ifndef STAMPGATE_GATEWAY_EVENTS_REQUEST_H_
#define STAMPGATE_GATEWAY_EVENTS_REQUEST_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <memory>
#include <optional>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/events/environment.h"
#include "gateway/events/messages.h"
#include "translate/message/parsed_message.h"
#include "translate/message/request_memory.h"
#include "webhooks/log/cursor.h"
#include "webhooks/log/event_filter.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// A request of the event service, parsed by its plan.
class EventRequest {
 public:
  // Parses and checks the request in `bytes`. Must be called once, before any other function. Errors: INVALID_ARGUMENT
  // (INVALID_REQUEST), which lists every violation. If the request is valid but the gateway has no event log:
  // FAILED_PRECONDITION (EVENTS_NOT_CONFIGURED).
  absl::Status Read(const EventEnvironment& environment, const grpc::ByteBuffer& bytes, const MessagePlan& plan);

  const ParsedMessage& operator*() const { return *message_; }
  const ParsedMessage* operator->() const { return &*message_; }

 private:
  grpc::Slice bytes_;
  RequestMemory memory_;
  std::optional<ParsedMessage> message_;  // refers to bytes_ and memory_
};

// An end of the event log.
enum class LogEnd { kEarliest, kLatest };

// The form in which a request names a point in the log.
using EventStart = std::variant<Cursor, absl::Time, LogEnd>;

// Decodes a cursor of a request. Errors: INVALID_ARGUMENT (CURSOR_INVALID), FAILED_PRECONDITION
// (CURSOR_OF_ANOTHER_LOG).
absl::StatusOr<Cursor> ReadCursor(const LogIdentity& log, absl::string_view text);

// Returns the start that `request` names. Errors: INVALID_ARGUMENT (INVALID_REQUEST, CURSOR_INVALID),
// FAILED_PRECONDITION (CURSOR_OF_ANOTHER_LOG).
absl::StatusOr<EventStart> StartOf(const LogIdentity& log, const PlaceFields& fields, const ParsedMessage& request);

// Returns the point that `start` means; the call must read the events after this point. Errors: those of the reader,
// and DATA_LOSS (CURSOR_AHEAD_OF_LOG) if the log does not have the event for which the cursor was made.
absl::StatusOr<LogPoint> Locate(const EventStart& start, EventReader& reader);

// Returns the name of the event for which `request` asks.
EventName NameOf(const NameFields& fields, const ParsedMessage& request);

// Returns a filter that passes the events that match the filter of `request` and that the caller may see. Errors:
// INVALID_ARGUMENT (INVALID_REQUEST) if the request has too many conditions.
absl::StatusOr<std::shared_ptr<const EventFilter>> FilterOf(const StartFields& fields, const ParsedMessage& request,
                                                            std::shared_ptr<const OrganizationTest> visible);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_REQUEST_H_
