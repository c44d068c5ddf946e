// Reads a request whose body an end user has stamped: the gateway checks the content of the body and sends its bytes
// unchanged.
#ifndef STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_
#define STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_

#include <optional>

#include "google/protobuf/message.h"
#include "stampgate/v1/client_stamp.pb.h"
#include "translate/operation_table.h"
#include "translate/violations.h"

namespace stampgate {

// If `request`, a message of the operation's request type, has a client_stamp: removes the stamp from `request`, fills
// the other fields from the stamped body, and returns the stamp. Otherwise returns nothing and leaves `request`
// unchanged.
//
// Adds a violation for each of these faults:
//   - the body is not a strict JSON object
//   - the body of a typed submit does not have the operation's activity type
//   - the body of a submit has no timestamp
//   - the body has a value that no field of the message can hold exactly (except generateAppProofs in the parameters of
//     a submit)
//   - the body lacks a required list
//   - another field than client_stamp is set (except the field of role FIELD_ROLE_PATH)
//   - `request` or its client_stamp has a field that the proto does not define
//   - client_stamp contains a body but no stamp
//
// Checks neither the form of the stamp nor the rules of the message's fields. After a violation, the content of
// `request` is undefined.
std::optional<v1::ClientStamp> TakeClientStamp(const Operation& operation, google::protobuf::Message& request,
                                               Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_
