// The question that a call asks the policy, and the error of a call that the policy denies.
#ifndef STAMPGATE_GATEWAY_CALLERS_DENIAL_H_
#define STAMPGATE_GATEWAY_CALLERS_DENIAL_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/callers/caller.h"
#include "gateway/policy/grant.h"
#include "google/protobuf/message.h"
#include "translate/operation_table.h"

namespace stampgate {

// What a call of `operation` asks the policy. Refers to both.
Question QuestionOf(const Operation& operation, const google::protobuf::Message& request);

// Whether a grant of `caller` can allow the call, whatever values its request has: a decision before the rules are
// checked, which takes time for every byte of the request.
Caller::Decision DecideByGrants(const Caller& caller, const Operation& operation,
                                const google::protobuf::Message& request);

// PERMISSION_DENIED (DENIED_BY_POLICY). The metadata hold "caller", the caller's name in the config, "method" and
// "policy_class" as a grant names them. The same for every reason: it does not show which organizations and keys there
// are. `method` is a full name.
absl::Status Denied(const Caller& caller, absl::string_view method);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_DENIAL_H_
