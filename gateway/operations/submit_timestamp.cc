#include "gateway/operations/submit_timestamp.h"

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
  const TimestampAllocator::Choice choice = timestamps.Choose(content, now);
  if (choice.value.has_value()) return *choice.value;
  return TimestampsExhausted(choice.retry_delay);
}

absl::Status TimestampsExhausted(absl::Duration retry_delay) {
  Error error = GatewayError(absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_TIMESTAMPS_EXHAUSTED,
                             "no timestamp is free for this submit: too many equal submits came within a second, the "
                             "clock was set, or the store cannot be written");
  error.retry_delay = retry_delay;
  return ToStatus(error);
}

}  // namespace stampgate
