// The errors of a call or stream that the gateway ends although nothing is wrong: the caller continues on another
// connection.
#ifndef STAMPGATE_GATEWAY_CALLS_SHUTTING_DOWN_H_
#define STAMPGATE_GATEWAY_CALLS_SHUTTING_DOWN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Returns UNAVAILABLE (SHUTTING_DOWN): the call had no effect. RetryInfo contains a random delay of 100 ms to 3 s, so
// that callers do not all retry at the same moment. If `cursor` is not empty, ErrorInfo.metadata contains `cursor`, so
// that the subscriber can resume after it.
absl::Status ShuttingDown(std::string cursor = "");

// Returns the same error for a stream that ends because its connection has reached its age. If `point` is not empty,
// ErrorInfo.metadata contains it with the name `name`: the point at which the caller can continue.
absl::Status ConnectionTooOld(absl::string_view name = "", std::string point = "");

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_SHUTTING_DOWN_H_
