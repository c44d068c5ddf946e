// The row of an event in the event log's file, and the checksum by which readers detect damage.
#ifndef STAMPGATE_WEBHOOKS_LOG_ROW_H_
#define STAMPGATE_WEBHOOKS_LOG_ROW_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "webhooks/log/event_log.h"
#include "webhooks/verification/delivery.h"
#include "webhooks/verification/event.h"

namespace stampgate {

using Digest = ChainDigest;

inline absl::string_view AsText(const Digest& digest) {
  return absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
}

// The columns of a row except its checksum and its body. The checksum covers `body_sha256` instead of the body, so that
// readers can verify it without reading the body. The string views refer to bytes that the row does not own.
struct EventRow {
  int64_t position = 0;
  int64_t commit_us = 0;  // since 1970
  absl::string_view event_id;
  absl::string_view organization_id;
  absl::string_view parent_organization_id;
  absl::string_view type;
  absl::string_view key_id;
  int64_t timestamp_ms = 0;
  absl::string_view signature;
  absl::string_view headers;  // made by EncodeHeaders
  absl::string_view body_sha256;
  absl::string_view previous;  // the checksum of the previous row; empty in rows of version 1
};

// Returns the bytes of the checksum that do not depend on the log and the event's position: all columns except the
// position, the commit time and `previous`. The database server of a shared log gets these bytes, and computes the
// checksum when it has chosen the position.
std::string EncodeContent(const EventRow& row);

// Returns the checksum over the log's id and all columns with their lengths. If a row was altered, moved or copied from
// another log, its stored checksum is wrong. The checksum also covers `previous`, with which readers detect that the
// previous row was replaced.
Digest ChecksumOf(absl::string_view log_id, const EventRow& row);

// Returns the row of an event, without its position. `headers` are the event's headers, made by EncodeHeaders.
EventRow RowOf(const Event& event, absl::string_view headers);

// Returns the event of a row with this body, or nothing if its headers are malformed.
std::optional<LoggedEvent> EventOf(const EventRow& row, const Digest& digest, std::string body);

// EncodeHeaders encodes all headers into the text of one column. DecodeHeaders decodes that text, or returns nothing if
// it is malformed.
std::string EncodeHeaders(const std::vector<HeaderField>& headers);
std::optional<std::vector<HeaderField>> DecodeHeaders(absl::string_view bytes);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_ROW_H_
