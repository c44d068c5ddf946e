#include "translate/operation_set/date.h"

#include "absl/time/civil_time.h"

namespace stampgate {

bool IsDate(absl::string_view text) {
  constexpr size_t kSize = 10;  // a text of this size has a year of four digits
  absl::CivilDay day;
  // The parser also accepts white space, and numbers without leading zeros, so the text must be as the formatter
  // writes.
  return text.size() == kSize && absl::ParseCivilTime(text, &day) && absl::FormatCivilTime(day) == text;
}

}  // namespace stampgate
