// base64url without padding (RFC 7515, section 2): the encoding of keys, tokens, stamps and cursors.
#ifndef STAMPGATE_BASE_JSON_BASE64URL_H_
#define STAMPGATE_BASE_JSON_BASE64URL_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the bytes that `text` encodes. Returns nothing unless `text` is the canonical encoding: without padding,
// without line breaks, with unused bits 0. Two different texts thus never decode to the same bytes.
std::optional<std::string> DecodeBase64Url(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_JSON_BASE64URL_H_
