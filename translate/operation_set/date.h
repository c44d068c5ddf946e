// Checks whether a text is a date.
#ifndef STAMPGATE_TRANSLATE_OPERATION_SET_DATE_H_
#define STAMPGATE_TRANSLATE_OPERATION_SET_DATE_H_

#include "absl/strings/string_view.h"

namespace stampgate {

// Returns true if `text` is a day of the calendar in the form "2026-09-22". Of two such texts, the later day is the
// greater text.
bool IsDate(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_OPERATION_SET_DATE_H_
