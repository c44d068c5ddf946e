// Converts libcurl's error codes to failures of an exchange.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_FAILURE_H_
#define STAMPGATE_GATEWAY_UPSTREAM_FAILURE_H_

#include <curl/curl.h>

#include "absl/strings/string_view.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// How far an exchange came before it failed.
struct ExchangeProgress {
  bool connected = false;  // the connection was ready for a request, including its TLS
  bool body_sent = false;  // a byte of the body may have left
  bool too_large = false;  // the response body exceeded the limit
};

// Returns the failure that libcurl's `code` means. `message` is the content of libcurl's error buffer. An unknown code
// means kBroken. If a byte of the body may have left, the cause is never one that means that nothing was sent.
TransportFailure DescribeFailure(CURLcode code, const ExchangeProgress& progress, absl::string_view message);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_FAILURE_H_
