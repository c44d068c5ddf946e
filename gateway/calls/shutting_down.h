// The error of a call or stream that ends because the gateway drains.
#ifndef STAMPGATE_GATEWAY_CALLS_SHUTTING_DOWN_H_
#define STAMPGATE_GATEWAY_CALLS_SHUTTING_DOWN_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// Returns UNAVAILABLE (SHUTTING_DOWN): the call had no effect. RetryInfo contains a random delay of 100 ms to 3 s, so
// that callers do not all retry at the same moment. If `cursor` is not empty, ErrorInfo.metadata contains `cursor`, so
// that the subscriber can resume after it.
absl::Status ShuttingDown(std::string cursor = "");

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_SHUTTING_DOWN_H_
