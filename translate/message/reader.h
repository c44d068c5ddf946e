// Translates JSON to the bytes of a protobuf message by its plan, without losing any value.
//
// Text that is not strict JSON is an error. If no field can hold a value exactly, the reader stores the JSON text of
// the value under its JSON Pointer (RFC 6901), or passes both to a callback. Such a value is: a member that the proto
// does not have, an enum value that the proto does not list, a value of another type, or a number or bytes in
// another spelling. If the value can be converted, the reader also sets the field. For a list element that cannot be
// converted, it adds an empty element, so that the other elements keep their index.
//
// Bytes in another spelling can be converted if they are base64 of either alphabet (RFC 4648, sections 4 and 5), with
// or without padding, and the unused bits of the last digit are 0.
//
// A member of a map whose value is not a string is such a value too. Since no entry can stand for it, the reader stores
// it under its own pointer and adds no entry.
//
// A member can have several names (FieldRule.replaces). In a response, the reader sets the field of each name that the
// JSON lacks to the value under another name, if that field can hold it. In a request, a second member with such a
// value is one that no field can hold.
//
// A timestamp is one value. If one of its members is not exact, the reader stores the whole object, and sets the field
// only if both seconds and nanos can be converted.
//
// A member name may contain an escaped half of a surrogate pair, so that it is not Unicode. A JSON Pointer cannot
// contain such a name, so the reader stores the whole object under the object's own pointer, which is "" for the root.
// It still sets the fields of the object's other members.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_READER_H_
#define STAMPGATE_TRANSLATE_MESSAGE_READER_H_

#include <cstddef>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "translate/message/plan.h"

namespace stampgate {

// Receives the JSON Pointer and the JSON text of a value that no field can hold. If it returns an error, the parsing
// ends with that error.
using OnUnrecognized = absl::FunctionRef<absl::Status(const std::string& pointer, absl::string_view text)>;

// Receives the JSON Pointer of a required member that is absent or null, and that may be empty: a list, a map, or a
// text whose field has no presence. The parsed message does not show this, because there such a field has the same
// value whether it is unset or empty.
using OnMissing = absl::FunctionRef<void(const std::string& pointer)>;

// Returns the bytes of the message of `plan` that `json` contains. May increase the capacity of `json`. Stores values
// that no field can hold in the map field `unrecognized` of the message. If the message has no such field, a value that
// no field can hold is an error. Errors: kInvalidArgument, with a message that names the offset or the JSON Pointer of
// the fault and does not quote `json`.
absl::StatusOr<std::string> ReadJsonMessage(std::string& json, const MessagePlan& plan);

// Like the function above, but sets `size` to the size of the message, and returns kOutOfRange if this is more than
// `most`. Holds at most about three times `most` bytes of such a message while it reads. A value that no field can hold
// needs its JSON Pointer too, so a message can be many times as large as `json`.
absl::StatusOr<std::string> ReadJsonMessage(std::string& json, const MessagePlan& plan, size_t most, size_t& size);

// Like the first function, but calls `unrecognized` for every value that no field can hold, and returns kOutOfRange if
// the message would have more than `most` bytes.
absl::StatusOr<std::string> ReadJsonMessage(std::string& json, const MessagePlan& plan, size_t most,
                                            OnUnrecognized unrecognized);

// Returns the bytes of the message that the body of a request contains; this is the inverse of AppendJsonMembers. If
// the message has a field of form kJsonMembers, stores in this field all members that have no field of their own. Calls
// `unrecognized` for every value that no field can hold, and `missing` for every member that OnMissing describes. If
// the message would have more than `most` bytes, returns kOutOfRange.
absl::StatusOr<std::string> ReadJsonRequest(std::string& json, const MessagePlan& plan, size_t most,
                                            OnUnrecognized unrecognized, OnMissing missing);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_READER_H_
