// Reads JSON into a protobuf message by its plan, and loses nothing.
//
// Only text that is not strict JSON is an error. What a field cannot hold exactly (a member that the proto does not
// know, an enum value it does not list, another type, another spelling of a number) is kept as JSON text, under the
// JSON Pointer (RFC 6901) of its place; the field is set as well where the value can be understood. An element of a
// list that cannot be understood leaves an empty element, so that the others keep their index.
#ifndef STAMPGATE_TRANSLATE_MESSAGE_READER_H_
#define STAMPGATE_TRANSLATE_MESSAGE_READER_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "translate/message_plan.h"

namespace stampgate {

// Fills the empty `message` from `json`, which may be given more capacity. What the fields cannot hold goes into the
// message's `unrecognized` map; a message without one must be able to hold everything (kInvalidArgument if it cannot).
// Errors: kInvalidArgument, with a place and without a piece of the text.
absl::Status ReadJsonMessage(std::string& json, const MessagePlan& plan, google::protobuf::Message& message);

// The same for a message inside of another, `holder`: its map field `unrecognized` takes what the fields cannot hold.
// Pointers still begin at the root of `json`.
absl::Status ReadJsonMessage(std::string& json, const MessagePlan& plan, google::protobuf::Message& message,
                             google::protobuf::Message& holder, const google::protobuf::FieldDescriptor* unrecognized);

// What the fields cannot hold: the JSON Pointer of its place, and its JSON text. An error ends the reading.
using OnUnrecognized = absl::FunctionRef<absl::Status(const std::string& pointer, absl::string_view text)>;

// The same for the body of a request, the other way round than AppendJsonMembers writes one: members that are no
// field's go into the field of form kJsonMembers, if there is one. `unrecognized` is told of what no field can hold.
absl::Status ReadJsonRequest(std::string& json, const MessagePlan& plan, google::protobuf::Message& message,
                             OnUnrecognized unrecognized);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_READER_H_
