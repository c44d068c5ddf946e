// Parses JSON into a protobuf message by its plan, and loses nothing.
//
// Only text that is not strict JSON is an error. A value that its field cannot hold exactly (a member that the proto
// does not have, an enum value it does not list, another type, another spelling of a number) is stored as JSON text
// under the JSON Pointer (RFC 6901) of its place; if the value can be converted, the field is set as well. A list
// element that cannot be converted leaves an empty element, so that the others keep their index.
//
// A timestamp is one value: if one of its members is not exact, the whole object is stored, and the field is set only
// if both seconds and nanos can be converted. A JSON Pointer cannot contain a member name that is not Unicode (an
// escaped half of a surrogate pair). An object with such a member is stored whole, under its own pointer, which is ""
// for the root. The fields of its other members are set as usual.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_READER_H_
#define STAMPGATE_TRANSLATE_MESSAGE_READER_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "translate/message_plan.h"

namespace stampgate {

// Fills the empty `message` from `json`, whose capacity it may increase. Values that the fields cannot hold go into the
// message's `unrecognized` map; for a message without that map they are kInvalidArgument. Errors: kInvalidArgument,
// with an offset or pointer and without a piece of the text.
absl::Status ReadJsonMessage(std::string& json, const MessagePlan& plan, google::protobuf::Message& message);

// The same for a message inside `holder`: values that the fields cannot hold go into the map field `unrecognized` of
// `holder`. Pointers still begin at the root of `json`.
absl::Status ReadJsonMessage(std::string& json, const MessagePlan& plan, google::protobuf::Message& message,
                             google::protobuf::Message& holder, const google::protobuf::FieldDescriptor* unrecognized);

// Receives a value that the fields cannot hold: the JSON Pointer of its place, and its JSON text. An error ends the
// parsing.
using OnUnrecognized = absl::FunctionRef<absl::Status(const std::string& pointer, absl::string_view text)>;

// Receives the JSON Pointer of a required list that is absent or null. The message itself cannot show that: there an
// absent list is an empty one.
using OnMissingList = absl::FunctionRef<void(const std::string& pointer)>;

// Fills `message` from the body of a request, the inverse of AppendJsonMembers. Members that have no field go into the
// field of form kJsonMembers, if there is one. Calls `unrecognized` for every value that no field can hold, and
// `missing_list` for each required list that is missing.
absl::Status ReadJsonRequest(std::string& json, const MessagePlan& plan, google::protobuf::Message& message,
                             OnUnrecognized unrecognized, OnMissingList missing_list);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_READER_H_
