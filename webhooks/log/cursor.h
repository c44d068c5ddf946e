// Places in an event log as subscribers keep them: opaque text that nobody else can make.
#ifndef STAMPGATE_WEBHOOKS_LOG_CURSOR_H_
#define STAMPGATE_WEBHOOKS_LOG_CURSOR_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// "Everything up to this place has been seen", bound to the log's id, its cursor key and the event there, and to
// nothing else: base64url of a version, a name that follows from id and key, the position, half of the event's digest
// and an HMAC over them. All cursors have the same length.
std::string EncodeCursor(const LogIdentity& log, const EventPlace& place);

struct Cursor {
  Position position = 0;
  // Of the event's digest. Nothing in cursors of version 1, which clients may have kept, and where it was not known.
  std::optional<std::array<uint8_t, 16>> digest;

  // Whether `there` may be the digest of the event that the cursor was made for.
  bool Fits(const ChainDigest& there) const;
};

// Errors: kInvalidArgument if this is not a cursor or was changed, kFailedPrecondition if it is one of another log.
absl::StatusOr<Cursor> DecodeCursor(const LogIdentity& log, absl::string_view cursor);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_CURSOR_H_
