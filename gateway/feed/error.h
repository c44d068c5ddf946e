// Converts errors of the event log to the errors that callers receive.
#ifndef STAMPGATE_GATEWAY_FEED_ERROR_H_
#define STAMPGATE_GATEWAY_FEED_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "translate/error.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Returns the error that the caller receives for the error `status`, which `reader` has just returned. The result is
// OUT_OF_RANGE (EVENTS_TRIMMED), DATA_LOSS (EVENT_DAMAGED, EVENTS_LOST, CURSOR_AHEAD_OF_LOG) or UNAVAILABLE
// (EVENT_LOG_UNAVAILABLE). If `status` is already an error of the gateway, returns it unchanged.
absl::Status ToCallerError(const absl::Status& status, EventReader& reader, const LogIdentity& log);

// Returns UNAVAILABLE (EVENT_LOG_UNAVAILABLE).
absl::Status LogUnavailable();

// Returns DATA_LOSS (CURSOR_AHEAD_OF_LOG): the log was restored to an earlier state. `why` is the error's message.
absl::Status NotOfThisHistory(absl::string_view why);

// Returns NOT_FOUND (EVENT_NOT_FOUND).
absl::Status EventNotFound();

// Returns UNAVAILABLE (TOKEN_EXPIRED) for a stream whose token has expired. The code is not UNAUTHENTICATED, because
// the caller can start the stream again with a newer token. The stream must add to the error the point at which the
// caller can continue.
Error TokenExpired();

// Returns the point at `position`, from which a cursor can be made. If the log does not know the digest of the event at
// `position`, the point has the digest zero.
LogPoint PointAt(EventReader& reader, Position position);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_ERROR_H_
