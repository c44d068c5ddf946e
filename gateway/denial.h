// What a caller that may not do what it wants is told.
#ifndef STAMPGATE_GATEWAY_DENIAL_H_
#define STAMPGATE_GATEWAY_DENIAL_H_

#include "absl/status/status.h"
#include "gateway/grant.h"
#include "google/protobuf/message.h"
#include "translate/operation_table.h"

namespace stampgate {

// What a call of `operation` asks the policy. Refers to both.
Question QuestionOf(const Operation& operation, const google::protobuf::Message& request);

// PERMISSION_DENIED (DENIED_BY_POLICY). The same for every reason: it does not tell which organizations there are.
absl::Status Denied();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DENIAL_H_
