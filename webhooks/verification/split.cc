#include "webhooks/verification/split.h"

#include <cstddef>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "webhooks/keys/identifier.h"
#include "webhooks/verification/signed_body.h"

namespace stampgate {
namespace {

constexpr size_t kNone = absl::string_view::npos;

// Calls `visit` with the offset of the body for each split of `text` whose key id, timestamp and event id have the
// right forms, until `visit` returns false. Several splits can have the same body.
void ForEachSplit(absl::string_view text, absl::FunctionRef<bool(size_t body)> visit) {
  for (size_t first = text.find('.'); first != kNone && first <= kMaxIdentifierBytes;
       first = text.find('.', first + 1)) {
    if (!IsIdentifier(text.substr(0, first))) continue;
    const size_t second = text.find('.', first + 1);
    if (second == kNone) return;
    if (!ReadTimestamp(text.substr(first + 1, second - first - 1)).has_value()) continue;
    size_t end = second + 1;
    while (end < text.size() && end - second <= kMaxIdentifierBytes + 1 && IsIdentifierChar(text[end])) ++end;
    const absl::string_view possible = text.substr(0, end);
    for (size_t third = possible.find('.', second + 1); third != kNone; third = possible.find('.', third + 1)) {
      if (IsIdentifier(text.substr(second + 1, third - second - 1)) && !visit(third + 1)) return;
    }
  }
}

// Returns whether exactly one split of `text` has its body at `body`, or at any place if `body` is kNone.
bool HasOneSplit(absl::string_view text, size_t body) {
  int count = 0;
  ForEachSplit(text, [&](size_t each) {
    if (body == kNone || each == body) ++count;
    return count < 2;
  });
  return count == 1;
}

bool HasSplitBeforeObject(absl::string_view text) {
  std::set<size_t> seen;
  bool found = false;
  ForEachSplit(text, [&](size_t body) {
    const bool may_be_object = body < text.size() && absl::StrContains("{ \t\r\n", text[body]);
    found = may_be_object && seen.insert(body).second && ReadSignedBody(text.substr(body)).ok();
    return !found;
  });
  return found;
}

}  // namespace

Split CheckSplit(const SignedHeaders& headers, absl::string_view body, bool body_is_object) {
  const bool is_ordinary = IsOrdinaryKeyId(headers.key_id) && IsOrdinaryEventId(headers.event_id);
  std::string text = absl::StrCat(headers.key_id, ".", headers.timestamp, ".", headers.event_id, ".");
  if (body_is_object) {
    return is_ordinary || HasOneSplit(text, text.size()) ? Split::kSigned : Split::kAmbiguous;
  }
  absl::StrAppend(&text, body);
  if (HasSplitBeforeObject(text)) return Split::kOther;
  return is_ordinary || HasOneSplit(text, kNone) ? Split::kSigned : Split::kAmbiguous;
}

}  // namespace stampgate
