#include "base/json/base64url.h"

#include "absl/strings/escaping.h"

namespace stampgate {

// The decoders of Abseil and libsodium accept several texts for the same bytes, and libsodium up to 1.0.18 reads every
// byte above 0x7f as the digit 63. Therefore this function encodes the decoded bytes again: `text` is canonical if this
// encoding equals `text`.
std::optional<std::string> DecodeBase64Url(absl::string_view text) {
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(text, &bytes) || absl::WebSafeBase64Escape(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace stampgate
