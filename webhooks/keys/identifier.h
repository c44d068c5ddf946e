// Checks the forms of key ids and event ids, which decide whether a signed message is unambiguous.
//
// Upstream signs the message "v1.ed25519.<key id>.<timestamp>.<event id>.<body>". Dots within the parts are not
// escaped, so a forged delivery could split the same message into other parts. With an ordinary key id and an ordinary
// event id, the parts that the headers state are unambiguous, since an ordinary key id has no dot, and an event id has
// neither "{" nor white space, with one of which the body of an event begins. Upstream does not limit the forms of ids,
// so the gateway also accepts others. For these, webhooks/verification/split.h checks that the message has no second
// split.
#ifndef STAMPGATE_WEBHOOKS_KEYS_IDENTIFIER_H_
#define STAMPGATE_WEBHOOKS_KEYS_IDENTIFIER_H_

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace stampgate {

inline constexpr size_t kMaxIdentifierBytes = 1024;
inline constexpr size_t kMaxOrdinaryIdentifierBytes = 128;

// Returns whether `c` can occur in an identifier: a visible ASCII character or a space.
inline bool IsIdentifierChar(char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); }

// Returns whether a header can carry the whole text as it is: 1 to 1024 visible ASCII characters, with spaces only
// between them.
inline bool IsIdentifier(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxIdentifierBytes && text.front() != ' ' && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), IsIdentifierChar);
}

inline bool IsOrdinaryIdentifier(absl::string_view text, absl::string_view punctuation) {
  return !text.empty() && text.size() <= kMaxOrdinaryIdentifierBytes &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(punctuation, c);
         });
}

// Returns whether the whole text matches [A-Za-z0-9_:-]{1,128}.
inline bool IsOrdinaryKeyId(absl::string_view text) { return IsOrdinaryIdentifier(text, "_:-"); }

// Returns whether the whole text matches [A-Za-z0-9._:-]{1,128}.
inline bool IsOrdinaryEventId(absl::string_view text) { return IsOrdinaryIdentifier(text, "._:-"); }

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_KEYS_IDENTIFIER_H_
