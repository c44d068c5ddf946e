// Checks the base URL of an HTTP server, such as upstream.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_BASE_URL_H_
#define STAMPGATE_GATEWAY_UPSTREAM_BASE_URL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the URL `text` in libcurl's normal form. `text` must be "https://host[:port]" or, if the host is localhost,
// ::1 or in 127.0.0.0/8, "http://host[:port]". It must contain no user information before the host, and nothing after
// the port. Errors: kInvalidArgument, with a message that does not quote user information.
absl::StatusOr<std::string> ParseBaseUrl(absl::string_view text);

struct ServerAddress {
  std::string host;  // without the brackets of an IPv6 address
  uint16_t port = 0;
};

// Returns the server of a URL that ParseBaseUrl accepts. Without a port in the URL, the port is that of its scheme.
ServerAddress AddressOfUrl(absl::string_view url);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_BASE_URL_H_
