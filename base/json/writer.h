// The only JSON writer of the program: appends to a string, without white space.
#ifndef STAMPGATE_BASE_JSON_WRITER_H_
#define STAMPGATE_BASE_JSON_WRITER_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Appends `value`, which must be UTF-8, to `out` as a JSON string. Escapes only the characters that RFC 8259 requires
// to be escaped; equal values thus give equal bytes.
void AppendJsonString(absl::string_view value, std::string& out);

// Returns the number of bytes that AppendJsonString would append.
size_t JsonStringSize(absl::string_view value);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_JSON_WRITER_H_
