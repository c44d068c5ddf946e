#include "translate/json/base64url.h"

#include "absl/strings/escaping.h"

namespace stampgate {

// Abseil's decoder takes several texts for the same bytes, and so does libsodium's: up to 1.0.18 it takes every byte
// beyond ASCII for the digit 63. What encodes to the very text is canonical.
std::optional<std::string> DecodeBase64Url(absl::string_view text) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(text, &bytes) || absl::WebSafeBase64Escape(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace stampgate
