// Finds fields in the bytes of a protobuf message.
#ifndef STAMPGATE_TRANSLATE_WIRE_FIELDS_H_
#define STAMPGATE_TRANSLATE_WIRE_FIELDS_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Calls `each` with every string or message of this number, in their order. `message` must be valid.
void ForEachBytes(absl::string_view message, int field, absl::FunctionRef<void(absl::string_view)> each);

// Both functions return the value of the last field with this number; nothing if the message has no such field, or if
// the field has another wire type. `message` must be valid.

// Finds a string, or the bytes of a message.
std::optional<absl::string_view> FindBytes(absl::string_view message, int field);

// Finds an integer, a bool or an enum.
std::optional<uint64_t> FindVarint(absl::string_view message, int field);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_WIRE_FIELDS_H_
