// Reads JSON into a protobuf message by its plan, and loses nothing.
//
// Only text that is not strict JSON is an error. What a field cannot hold exactly (a member that the proto does not
// know, an enum value it does not list, another type, another spelling of a number) is kept as JSON text, under the
// JSON Pointer (RFC 6901) of its place; the field is set as well where the value can be understood. An element of a
// list that cannot be understood leaves an empty element, so that the others keep their index.
//
// A timestamp is one value: if one of its members is not exact, the whole object is kept, and the field is set only if
// seconds and nanos both can be understood. No pointer can name a member whose name is not Unicode (an escaped half of
// a surrogate pair): the object that has the member is kept whole, under its own pointer, which is "" for the root. The
// fields of its other members are set as always.
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

// The JSON Pointer of a required list that an object does not have, or has as null. The message cannot say so: there an
// absent list is an empty one.
using OnMissingList = absl::FunctionRef<void(const std::string& pointer)>;

// The same for the body of a request, the other way round than AppendJsonMembers writes one: members that are no
// field's go into the field of form kJsonMembers, if there is one. `unrecognized` gets what no field can hold,
// `missing_list` of each required list that is not there.
absl::Status ReadJsonRequest(std::string& json, const MessagePlan& plan, google::protobuf::Message& message,
                             OnUnrecognized unrecognized, OnMissingList missing_list);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_MESSAGE_READER_H_
