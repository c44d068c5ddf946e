// Cursors: places in an event log as subscribers keep them, as opaque text that only the gateway can create.
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

// Encodes "everything up to this place has been seen", bound to the event log's id, its cursor key and the event at the
// place: base64url of a version, a name derived from id and key, the position, half of the event's digest, and an HMAC
// over these. All cursors have the same length.
std::string EncodeCursor(const LogIdentity& log, const EventPlace& place);

struct Cursor {
  Position position = 0;
  // Half of the event's digest. Nothing in cursors of version 1, which clients may have kept, and where the digest was
  // unknown.
  std::optional<std::array<uint8_t, 16>> digest;

  // Whether `there` can be the digest of the event that the cursor was made for.
  bool Fits(const ChainDigest& there) const;
};

// Errors: kInvalidArgument if the text is not a cursor or was altered, kFailedPrecondition if it is a cursor of another
// event log.
absl::StatusOr<Cursor> DecodeCursor(const LogIdentity& log, absl::string_view cursor);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_CURSOR_H_
