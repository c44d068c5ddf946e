// The errors of the event log, as callers receive them.
#ifndef STAMPGATE_GATEWAY_EVENTS_ERROR_H_
#define STAMPGATE_GATEWAY_EVENTS_ERROR_H_

#include "absl/status/status.h"
#include "translate/error.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// The error for callers when `reader` has just returned the error `status`: OUT_OF_RANGE (EVENTS_TRIMMED), DATA_LOSS
// (EVENT_DAMAGED, EVENTS_LOST) or UNAVAILABLE (EVENT_LOG_UNAVAILABLE). Returns a gateway error unchanged.
absl::Status ToCallerError(const absl::Status& status, EventReader& reader, const LogIdentity& log);

// NOT_FOUND (EVENT_NOT_FOUND).
absl::Status EventNotFound();

// UNAVAILABLE (TOKEN_EXPIRED), for a stream whose token has expired. It is not UNAUTHENTICATED, because a caller that
// starts the stream again after UNAVAILABLE sends a newer token. The stream adds the place at which to continue.
Error TokenExpired();

// The place at `position`, for a cursor. Its digest is zeros if the log does not know the event's digest.
EventPlace PlaceAt(EventReader& reader, Position position);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_ERROR_H_
