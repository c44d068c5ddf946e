// Places in an event log as subscribers keep them: opaque text that nobody else can make.
#ifndef STAMPGATE_WEBHOOKS_CURSOR_H_
#define STAMPGATE_WEBHOOKS_CURSOR_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "webhooks/event_log.h"

namespace stampgate {

// "Everything up to `position` has been seen", bound to the log's id and its cursor key and to nothing else: base64url
// of a version, a name that follows from both, the position and an HMAC over them. All cursors have the same length.
std::string EncodeCursor(const LogIdentity& log, Position position);

// Errors: kInvalidArgument if this is not a cursor or was changed, kFailedPrecondition if it is one of another log.
absl::StatusOr<Position> DecodeCursor(const LogIdentity& log, absl::string_view cursor);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_CURSOR_H_
