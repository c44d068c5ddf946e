// base64 with padding (RFC 4648, section 4): the encoding of bytes in JSON.
#ifndef STAMPGATE_BASE_JSON_BASE64_H_
#define STAMPGATE_BASE_JSON_BASE64_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// The bytes that a text encodes.
struct Base64 {
  std::string bytes;
  bool canonical;  // whether the text is the encoding of `bytes` that absl::Base64Escape returns
};

// Returns the bytes that `text` encodes. Accepts the digits of both alphabets (RFC 4648, sections 4 and 5), and padding
// of any length up to two. Returns nothing if `text` contains anything else, such as a line break, or if unused bits
// are not 0.
std::optional<Base64> ReadBase64(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_JSON_BASE64_H_
