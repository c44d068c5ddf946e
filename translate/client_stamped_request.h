// Reads a request whose body an end user has stamped: the gateway checks what the body says and sends its bytes
// unchanged.
#ifndef STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_
#define STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_

#include <optional>

#include "google/protobuf/message.h"
#include "stampgate/v1/client_stamp.pb.h"
#include "translate/operation_table.h"
#include "translate/violations.h"

namespace stampgate {

// Removes client_stamp from `request`, a message of the operation's request type, and fills `request` from the stamped
// body. If there is no client_stamp, returns nothing and leaves `request` unchanged.
//
// The body must be one of this operation (with its type, and for a submit with a time) and strict JSON. Violations are:
// a value that the message cannot hold exactly, except generateAppProofs inside the parameters of a submit; a missing
// required list; a field beside client_stamp, except the one of role FIELD_ROLE_PATH; and a missing stamp. The form of
// the stamp and the rules of the message are not checked here. After a violation the content of `request` is undefined.
std::optional<v1::ClientStamp> TakeClientStamp(const Operation& operation, google::protobuf::Message& request,
                                               Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_
