// The two ids that the signed text joins with dots.
//
// Signed is "v1.ed25519.<key id>.<timestamp>.<event id>.<body>", and dots are not escaped: only the form of its parts
// says where they end. A key id has no dot and a timestamp is digits, so the first three dots are certain. An event id
// may have dots, but neither "{" nor white space, with one of which every body begins that is a JSON object: a cut at
// another dot gives an event id of the wrong form, or a body that is not one.
#ifndef STAMPGATE_WEBHOOKS_IDENTIFIER_H_
#define STAMPGATE_WEBHOOKS_IDENTIFIER_H_

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace stampgate {

inline constexpr size_t kMaxIdentifierBytes = 128;

inline bool IsIdentifier(absl::string_view text, absl::string_view punctuation) {
  return !text.empty() && text.size() <= kMaxIdentifierBytes && std::all_of(text.begin(), text.end(), [&](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(punctuation, c);
  });
}

// [A-Za-z0-9_:-]{1,128}
inline bool IsKeyId(absl::string_view text) { return IsIdentifier(text, "_:-"); }

// [A-Za-z0-9._:-]{1,128}
inline bool IsEventId(absl::string_view text) { return IsIdentifier(text, "._:-"); }

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_IDENTIFIER_H_
