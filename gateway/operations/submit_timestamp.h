// Returns the timestampMs of one submit.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_SUBMIT_TIMESTAMP_H_
#define STAMPGATE_GATEWAY_OPERATIONS_SUBMIT_TIMESTAMP_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/operations/timestamp_allocator.h"
#include "translate/request_translator.h"

namespace stampgate {

// If the caller has set a timestamp, or if the body that a client stamped contains one, returns this timestamp and
// notes it in `timestamps`. Otherwise returns a timestamp that `timestamps` chooses. Errors: RESOURCE_EXHAUSTED
// (TIMESTAMPS_EXHAUSTED) with RetryInfo.
absl::StatusOr<uint64_t> TimestampOf(const RenderedRequest& rendered, TimestampAllocator& timestamps, absl::Time now);

// Returns RESOURCE_EXHAUSTED (TIMESTAMPS_EXHAUSTED). `retry_delay` is the time after which a timestamp may be free.
absl::Status TimestampsExhausted(absl::Duration retry_delay);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_SUBMIT_TIMESTAMP_H_
