// An event as a row of the event log's file, and the checksums that reveal damage.
#ifndef STAMPGATE_WEBHOOKS_LOG_ROW_H_
#define STAMPGATE_WEBHOOKS_LOG_ROW_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "webhooks/verification/delivery.h"

namespace stampgate {

using Digest = std::array<uint8_t, 32>;

inline absl::string_view AsText(const Digest& digest) {
  return absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size());
}

// The columns of a row except its checksum and its body. `body_sha256` stands for the body, so that damage shows
// without reading it. Does not own the bytes.
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
  absl::string_view headers;  // EncodeHeaders
  absl::string_view body_sha256;
  absl::string_view previous;  // the checksum of the row before; empty in rows of version 1
};

// Over every column with its length, and the log's id. It changes if a row is altered, moved, copied from another log,
// or follows another row than before.
Digest ChecksumOf(absl::string_view log_id, const EventRow& row);

// Encodes all headers into one column, and decodes it. Nothing if the bytes do not come from EncodeHeaders.
std::string EncodeHeaders(const std::vector<HeaderField>& headers);
std::optional<std::vector<HeaderField>> DecodeHeaders(absl::string_view bytes);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_ROW_H_
