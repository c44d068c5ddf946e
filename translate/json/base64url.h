// base64url without padding, as keys, tokens, stamps and cursors have it: RFC 7515, section 2.
#ifndef STAMPGATE_TRANSLATE_JSON_BASE64URL_H_
#define STAMPGATE_TRANSLATE_JSON_BASE64URL_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// The bytes that `text` stands for: without padding, line breaks or bits that no byte holds, so that two texts never
// stand for the same bytes. Nothing if it is anything else.
std::optional<std::string> DecodeBase64Url(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_JSON_BASE64URL_H_
