// Hexadecimal digits: the encoding of keys, signatures and digests.
#ifndef STAMPGATE_BASE_JSON_HEX_H_
#define STAMPGATE_BASE_JSON_HEX_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the bytes that `text` encodes, two digits each. Accepts digits of both cases. Returns nothing if `text`
// contains anything else, or if a digit is missing.
std::optional<std::string> DecodeHex(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_JSON_HEX_H_
