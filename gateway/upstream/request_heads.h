// The heads of requests to upstream.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_REQUEST_HEADS_H_
#define STAMPGATE_GATEWAY_UPSTREAM_REQUEST_HEADS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "gateway/upstream/options.h"
#include "stamp/stamped_request.h"

namespace stampgate {

// Writes the request heads for one base URL (RFC 9112). Thread-safe.
//
// The functions return nothing if upstream could misread the head: if the path is no request target, or if a header
// contains a line break, a byte that is not ASCII, or nothing.
class RequestHeads {
 public:
  // `base_url` must be a result of ParseBaseUrl.
  explicit RequestHeads(absl::string_view base_url);

  std::optional<std::string> PostHead(const StampedRequest& request, absl::string_view traceparent) const;
  std::optional<std::string> GetHead(const DiscoveryRequest& request, absl::string_view traceparent) const;

 private:
  std::string fixed_;  // the end of the request line, and the headers that all requests have
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_REQUEST_HEADS_H_
