// Reads the JSON body of a request to the request message of an operation.
#ifndef STAMPGATE_TRANSLATE_REQUEST_BODY_H_
#define STAMPGATE_TRANSLATE_REQUEST_BODY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "translate/message/parsed_message.h"
#include "translate/message/request_memory.h"
#include "translate/operation_table.h"
#include "translate/violations.h"

namespace stampgate {

// Returns the request message of `operation` that `body` contains, after the fields in `before`, which are the bytes of
// such a message. May increase the capacity of `body`. The result refers to `memory`, not to `body`.
//
// Adds a violation of the field `place` for each of these faults:
//   - the body is not a strict JSON object
//   - the body of a typed submit does not have the operation's activity type
//   - the body of a submit has no timestamp
//   - the body has a value that no field of the message can hold exactly (except generateAppProofs in the parameters of
//     a submit)
//   - the body lacks a required list or map
//   - a member has another name than upstream receives (Operation::names_as_of): the gateway does not write this body
//   - the message does not fit into `memory`
//
// Does not check the rules of the message's fields. Returns null after the first and the last of these faults.
const ParsedMessage* ReadRequestBody(const Operation& operation, std::string& body, absl::string_view before,
                                     absl::string_view place, RequestMemory& memory, Violations& violations);

}  // namespace stampgate

#endif  // STAMPGATE_TRANSLATE_REQUEST_BODY_H_
