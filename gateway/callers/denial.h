// The question that a call asks the policy, and the error of a denied call.
#ifndef STAMPGATE_GATEWAY_CALLERS_DENIAL_H_
#define STAMPGATE_GATEWAY_CALLERS_DENIAL_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/callers/caller.h"
#include "gateway/policy/grant.h"
#include "translate/message/parsed_message.h"
#include "translate/operation_table.h"

namespace stampgate {

// Returns the question that a call of `operation` asks the policy. The question refers to `operation`, `request` and
// the bytes of `request`.
Question QuestionOf(const Operation& operation, const ParsedMessage& request);

// Decides whether a grant of `caller` allows the method for any organization. For a general operation, decides only
// whether a grant lists at least one general operation, not necessarily this one. The gateway calls this function
// before it decodes the request, because decoding takes time and memory proportional to the size of the request.
Caller::Decision DecideByMethod(const Caller& caller, const ApiMethod& method);

// Decides like DecideByMethod. If the operation is not general, only grants for the organization of `request` count.
// Ignores the other values of `request`. The gateway calls this function before it validates the request, because
// validation takes time proportional to the size of the request.
Caller::Decision DecideByGrants(const Caller& caller, const Operation& operation, const ParsedMessage& request);

// Returns the error of a call of `method` that `decision` denies.
//
// If only the idempotency key is missing, the caller can mend the request: the error is INVALID_ARGUMENT
// (INVALID_REQUEST), with a violation of the field `idempotency_key`. Otherwise it is PERMISSION_DENIED
// (DENIED_BY_POLICY). In its ErrorInfo.metadata, `caller` is the caller's name in the config, and `method` and
// `policy_class` are the names that a grant uses. If no grant has the method, the message states what the grants lack.
// For every other reason the message is the same, so that the error reveals no organizations, keys or limits.
absl::Status Denied(const Caller& caller, const ApiMethod& method, const Caller::Decision& decision);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_DENIAL_H_
