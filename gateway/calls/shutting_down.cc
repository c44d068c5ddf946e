#include "gateway/calls/shutting_down.h"

#include <utility>

#include "absl/random/random.h"
#include "absl/time/time.h"
#include "translate/error.h"

namespace stampgate {
namespace {

absl::Status ContinueElsewhere(std::string why, absl::string_view name, std::string point) {
  Error error = GatewayError(absl::StatusCode::kUnavailable, v1::ERROR_REASON_SHUTTING_DOWN, std::move(why));
  if (!point.empty()) error.metadata.emplace_back(name, std::move(point));
  thread_local absl::InsecureBitGen random;
  error.retry_delay = absl::Milliseconds(absl::Uniform(random, 100, 3000));
  return ToStatus(error);
}

}  // namespace

absl::Status ShuttingDown(std::string cursor) {
  return ContinueElsewhere("the gateway is shutting down", "cursor", std::move(cursor));
}

absl::Status ConnectionTooOld(absl::string_view name, std::string point) {
  return ContinueElsewhere("the gateway ends this connection because of its age; a new connection continues", name,
                           std::move(point));
}

}  // namespace stampgate
