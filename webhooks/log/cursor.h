// Encodes and decodes cursors: opaque texts with which subscribers resume after a position of the event log. Only the
// gateway can create cursors.
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

// Returns a cursor with which a subscriber resumes after `point`. The cursor is valid only for this event log, the
// log's current cursor key and the event at `point`. The cursor is the base64url encoding of five parts: a version, a
// name that is derived from the log's id and cursor key, the position, half of the event's digest, and an HMAC over the
// other parts. A mask hides the position and the digest. All returned cursors have the same length, and equal points
// have equal cursors.
std::string EncodeCursor(const LogIdentity& log, const LogPoint& point);

struct Cursor {
  Position position = 0;
  // The first half of the event's digest. Not set in a cursor that was made without a known digest. Not set in a cursor
  // of version 1 either; subscribers can still have such cursors.
  std::optional<std::array<uint8_t, 16>> digest;

  // Returns whether `there` can be the digest of the event for which the cursor was made. If the cursor has no digest,
  // returns true.
  bool Fits(const ChainDigest& there) const;
};

// Decodes a cursor. Errors: kInvalidArgument if the text is not a cursor or was altered; kFailedPrecondition if the
// cursor belongs to another event log or was made with another cursor key.
absl::StatusOr<Cursor> DecodeCursor(const LogIdentity& log, absl::string_view cursor);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_CURSOR_H_
