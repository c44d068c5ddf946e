// The error of a call or stream that ends because the gateway drains.
#ifndef STAMPGATE_GATEWAY_CALLS_SHUTTING_DOWN_H_
#define STAMPGATE_GATEWAY_CALLS_SHUTTING_DOWN_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// UNAVAILABLE (SHUTTING_DOWN): nothing was done. RetryInfo has a random delay of 100 ms to 3 s, so that callers do not
// all come back at once. `cursor`, if it is not empty, is in the metadata: a subscription goes on from there.
absl::Status ShuttingDown(std::string cursor = "");

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_SHUTTING_DOWN_H_
