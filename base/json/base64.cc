#include "base/json/base64.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/json/base64url.h"

namespace stampgate {

std::optional<Base64> ReadBase64(absl::string_view text) {
  absl::string_view digits = text;
  if (absl::ConsumeSuffix(&digits, "=")) absl::ConsumeSuffix(&digits, "=");
  std::optional<std::string> bytes = DecodeBase64Url(absl::StrReplaceAll(digits, {{"+", "-"}, {"/", "_"}}));
  if (!bytes.has_value()) return std::nullopt;
  const bool canonical = absl::Base64Escape(*bytes) == text;
  return Base64{*std::move(bytes), canonical};
}

}  // namespace stampgate
