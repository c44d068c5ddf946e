// Checks the forms of key ids and event ids, which make a signed message unambiguous.
//
// Upstream signs the message "v1.ed25519.<key id>.<timestamp>.<event id>.<body>". Dots within the parts are not
// escaped, so a forged delivery could split the same message into other parts. A key id and a timestamp have no dots,
// so their ends are unambiguous. An event id can have dots, but neither "{" nor white space, while a body that is a
// JSON object begins with "{" or white space. Therefore at most one split gives a valid event id and a JSON object. If
// there is such a split, upstream signed it, and the verifier rejects every other split. If there is no such split, the
// verifier accepts the split that the delivery's headers state.
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

// Returns whether the whole text matches [A-Za-z0-9_:-]{1,128}.
inline bool IsKeyId(absl::string_view text) { return IsIdentifier(text, "_:-"); }

// Returns whether the whole text matches [A-Za-z0-9._:-]{1,128}.
inline bool IsEventId(absl::string_view text) { return IsIdentifier(text, "._:-"); }

// Finds the dot at which `text`, "<event id>.<body>", must be split if the body is a JSON object. This dot follows an
// event id and precedes "{" or white space. Returns the offset of the dot, or npos if there is no such dot.
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
