#include "gateway/calls/shutting_down.h"

#include <utility>

#include "absl/random/random.h"
#include "absl/time/time.h"
#include "translate/error.h"

namespace stampgate {

absl::Status ShuttingDown(std::string cursor) {
  Error error =
      GatewayError(absl::StatusCode::kUnavailable, v1::ERROR_REASON_SHUTTING_DOWN, "the gateway is shutting down");
  if (!cursor.empty()) error.metadata.emplace_back("cursor", std::move(cursor));
  thread_local absl::InsecureBitGen random;
  error.retry_delay = absl::Milliseconds(absl::Uniform(random, 100, 3000));
  return ToStatus(error);
}

}  // namespace stampgate
