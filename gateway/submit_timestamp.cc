#include "gateway/submit_timestamp.h"

#include <optional>

#include "absl/hash/hash.h"
#include "translate/error.h"

namespace stampgate {

absl::StatusOr<uint64_t> TimestampOf(const RenderedRequest& rendered, TimestampAllocator& timestamps, absl::Time now) {
  const uint64_t content = absl::HashOf(rendered.type_member, rendered.members);
  if (rendered.timestamp_ms.has_value()) {
    timestamps.Note(content, *rendered.timestamp_ms, now);
    return *rendered.timestamp_ms;
  }
  if (std::optional<uint64_t> timestamp_ms = timestamps.Choose(content, now)) return *timestamp_ms;
  Error error = GatewayError(absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_TIMESTAMPS_EXHAUSTED,
                             "too many equal calls at once: no timestamp is free that would keep them apart");
  error.retry_delay = timestamps.RetryDelay();
  return ToStatus(error);
}

}  // namespace stampgate
