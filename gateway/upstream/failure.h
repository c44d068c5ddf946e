// Converts libcurl's error codes to failures of an exchange.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_FAILURE_H_
#define STAMPGATE_GATEWAY_UPSTREAM_FAILURE_H_

#include <curl/curl.h>

#include "absl/strings/string_view.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Returns the failure that libcurl's `code` means for an attempt to connect, in which nothing is sent. `message` is the
// content of libcurl's error buffer. An unknown code means kBroken.
TransportFailure ConnectFailure(CURLcode code, absl::string_view message);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_FAILURE_H_
