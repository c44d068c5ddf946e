// The only JSON writer of the program: appends to a string, without white space.
#ifndef STAMPGATE_TRANSLATE_JSON_WRITER_H_
#define STAMPGATE_TRANSLATE_JSON_WRITER_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Appends `value`, which must be UTF-8, as a JSON string. Escapes exactly the characters for which RFC 8259 requires
// it, so that equal values give equal bytes.
void AppendJsonString(absl::string_view value, std::string& out);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_JSON_WRITER_H_
