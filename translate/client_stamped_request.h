// Reads a request whose body an end user has stamped: the gateway checks the content of the body and sends its bytes
// unchanged.
#ifndef STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_
#define STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_

#include <optional>

#include "stampgate/v1/client_stamp.pb.h"
#include "translate/message/parsed_message.h"
#include "translate/message/request_memory.h"
#include "translate/operation_table.h"
#include "translate/violations.h"

namespace stampgate {

struct ClientStampedRequest {
  v1::ClientStamp stamp;  // contains the stamped body
  ParsedMessage request;  // the fields that the body contains, and the field of role FIELD_ROLE_PATH
};

// Reads `request`, a message of the operation's request type. Returns nothing if it has no client_stamp. The result
// refers to `memory`, not to `request` or its bytes.
//
// Adds a violation for each of these faults:
//   - the body has one of the faults that ReadRequestBody reports
//   - another field than client_stamp is set (except the field of role FIELD_ROLE_PATH)
//   - `request` or its client_stamp has a field that the proto does not define
//   - client_stamp contains a body but no stamp, or is not a ClientStamp message, or has more than 16 KiB beside its
//     body
//
// Checks neither the form of the stamp nor the rules of the message's fields. After a violation, the content of the
// result is undefined.
std::optional<ClientStampedRequest> ReadClientStampedRequest(const Operation& operation, const ParsedMessage& request,
                                                             RequestMemory& memory, Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_CLIENT_STAMPED_REQUEST_H_
