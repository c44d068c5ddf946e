// The one address that stamped requests go to.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_BASE_URL_H_
#define STAMPGATE_GATEWAY_UPSTREAM_BASE_URL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Returns `text` as libcurl reads it. It must be "https://host[:port]", or "http://host[:port]" where the host is
// localhost, ::1 or in 127.0.0.0/8, with nothing before the host and nothing after the port.
// Errors: kInvalidArgument, with a message that does not quote user information.
absl::StatusOr<std::string> ParseBaseUrl(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_BASE_URL_H_
