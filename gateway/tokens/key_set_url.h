// The URL of a key set, split into the parts that the HTTP client needs.
#ifndef STAMPGATE_GATEWAY_TOKENS_KEY_SET_URL_H_
#define STAMPGATE_GATEWAY_TOKENS_KEY_SET_URL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

struct KeySetUrl {
  std::string base_url;  // see ParseBaseUrl
  std::string path;      // from the first slash after the host, with the query if the URL has one
};

// Splits a URL of the form "https://host[:port]/path". Errors: kInvalidArgument; the message does not quote the URL.
absl::StatusOr<KeySetUrl> ParseKeySetUrl(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_KEY_SET_URL_H_
