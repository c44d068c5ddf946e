// A request whose body an end user has stamped: those bytes are sent, and what they say is what the gateway checks.
#ifndef STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_
#define STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_

#include <optional>

#include "google/protobuf/message.h"
#include "stampgate/v1/client_stamp.pb.h"
#include "translate/operation_table.h"
#include "translate/violations.h"

namespace stampgate {

// Takes the client_stamp out of `request`, a message of the operation's request type, which becomes what the stamp's
// body says. Nothing, and `request` as it was, if there is none.
//
// The body is of this operation (its type, a time if it is a submit), strict JSON, and nothing in it is left out: what
// the message cannot hold exactly is a violation, save a generateAppProofs inside the parameters of a submit. So are a
// required list that the body does not have, other fields beside client_stamp, save the one of role
// FIELD_ROLE_PATH, and a missing stamp. Whether the stamp is one is not looked at, nor whether the message is valid.
// After a violation `request` is good for nothing.
std::optional<v1::ClientStamp> TakeClientStamp(const Operation& operation, google::protobuf::Message& request,
                                               Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_
