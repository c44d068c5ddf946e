// Where a key set is.
#ifndef STAMPGATE_GATEWAY_TOKENS_KEY_SET_URL_H_
#define STAMPGATE_GATEWAY_TOKENS_KEY_SET_URL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

struct KeySetUrl {
  std::string base_url;  // see ParseBaseUrl
  std::string path;      // from the first slash on, with a query if there is one
};

// Takes "https://host[:port]/path" apart. Errors: kInvalidArgument; the message quotes nothing.
absl::StatusOr<KeySetUrl> ParseKeySetUrl(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TOKENS_KEY_SET_URL_H_
