// base64url without padding (RFC 7515, section 2): the encoding of keys, tokens, stamps and cursors.
#ifndef STAMPGATE_TRANSLATE_JSON_BASE64URL_H_
#define STAMPGATE_TRANSLATE_JSON_BASE64URL_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Decodes `text`. Accepts only the canonical text, without padding, line breaks or spare bits, so that two texts never
// decode to the same bytes. Nothing for other texts.
std::optional<std::string> DecodeBase64Url(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_JSON_BASE64URL_H_
