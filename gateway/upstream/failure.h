// What libcurl's error codes mean for a call.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_FAILURE_H_
#define STAMPGATE_GATEWAY_UPSTREAM_FAILURE_H_

#include <curl/curl.h>

#include "absl/strings/string_view.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// What was seen of an exchange that has failed.
struct ExchangeProgress {
  bool connected = false;  // TLS included
  bool body_sent = false;
  bool too_large = false;
};

// `message` is libcurl's error buffer. Everything unknown is kBroken: a failure after body bytes have left is never
// taken for one before.
TransportFailure DescribeFailure(CURLcode code, const ExchangeProgress& progress, absl::string_view message);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_FAILURE_H_
