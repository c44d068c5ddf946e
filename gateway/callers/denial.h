// The question that a call asks the policy, and the error of a denied call.
#ifndef STAMPGATE_GATEWAY_CALLERS_DENIAL_H_
#define STAMPGATE_GATEWAY_CALLERS_DENIAL_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/callers/caller.h"
#include "gateway/policy/grant.h"
#include "google/protobuf/message.h"
#include "translate/operation_table.h"

namespace stampgate {

// What a call of `operation` asks the policy. Refers to both arguments.
Question QuestionOf(const Operation& operation, const google::protobuf::Message& request);

// Whether a grant of `caller` could allow the call, whatever values its request has. This decision comes before
// validation, which takes time proportional to the request.
Caller::Decision DecideByGrants(const Caller& caller, const Operation& operation,
                                const google::protobuf::Message& request);

// PERMISSION_DENIED (DENIED_BY_POLICY). The metadata hold "caller", the caller's name in the config, and "method" and
// "policy_class" in the form that a grant uses. The error is the same for every reason, so it reveals no organizations
// or keys. `method` is a full name.
absl::Status Denied(const Caller& caller, absl::string_view method);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_DENIAL_H_
