// The errors of the event log, as callers get them.
#ifndef STAMPGATE_GATEWAY_EVENTS_ERROR_H_
#define STAMPGATE_GATEWAY_EVENTS_ERROR_H_

#include "absl/status/status.h"
#include "translate/error.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// `status` is an error that `reader` just gave: OUT_OF_RANGE (EVENTS_TRIMMED), DATA_LOSS (EVENT_DAMAGED, EVENTS_LOST)
// or UNAVAILABLE (EVENT_LOG_UNAVAILABLE). One that is for callers already stays as it is.
absl::Status ToCallerError(const absl::Status& status, EventReader& reader, const LogIdentity& log);

// NOT_FOUND (EVENT_NOT_FOUND).
absl::Status EventNotFound();

// UNAVAILABLE (TOKEN_EXPIRED), for a stream that was begun with a token that has expired: no refusal, since a caller
// that starts again after UNAVAILABLE comes with a newer one. Its caller adds where the stream goes on.
Error TokenExpired();

// The place at `position`, for a cursor: without a digest where the log does not know it.
EventPlace PlaceAt(EventReader& reader, Position position);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_ERROR_H_
