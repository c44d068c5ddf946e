// The two ids that the signed text joins with dots.
//
// Signed is "v1.ed25519.<key id>.<timestamp>.<event id>.<body>", and dots are not escaped: only the form of its parts
// says where they end. A key id has no dot and a timestamp is digits, so the first three dots are certain. An event id
// may have dots, but neither "{" nor white space, with one of which every body begins that is a JSON object: at most
// one cut gives an event id of the right form and such a body. Where there is one, it is the cut that upstream signed,
// and the verifier takes no other. A body that is no JSON object is taken as the headers cut it.
#ifndef STAMPGATE_WEBHOOKS_KEYS_IDENTIFIER_H_
#define STAMPGATE_WEBHOOKS_KEYS_IDENTIFIER_H_

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

// Where the event id ends in `text`, "<event id>.<body>", if its body may be a JSON object: at a dot with an event id
// before it and "{" or white space after it. npos if there is no such dot.
inline size_t EndOfEventIdBeforeObject(absl::string_view text) {
  const auto in_id = [](char c) { return IsEventId(absl::string_view(&c, 1)); };
  const size_t end = static_cast<size_t>(std::find_if_not(text.begin(), text.end(), in_id) - text.begin());
  if (end < 2 || end == text.size() || text[end - 1] != '.' || !absl::StrContains("{ \t\r\n", text[end])) {
    return absl::string_view::npos;
  }
  return IsEventId(text.substr(0, end - 1)) ? end - 1 : absl::string_view::npos;
}

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_IDENTIFIER_H_
