// Whether a caller may make a request: the steps that a call and the preparation of a call share.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_AUTHORIZATION_H_
#define STAMPGATE_GATEWAY_OPERATIONS_AUTHORIZATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/call_audit.h"
#include "gateway/calls/call_record.h"
#include "google/protobuf/message.h"
#include "translate/operation_table.h"

namespace stampgate {

// A request for an operation, and what its caller wants of the gateway. Refers to both.
struct RequestedOperation {
  enum class Purpose {
    kSend,         // the gateway stamps and sends it
    kSendStamped,  // a client has stamped it, the gateway sends it
    kPrepare,      // a client is to stamp it
  };

  const Operation& operation;
  const google::protobuf::Message& request;
  Purpose purpose = Purpose::kSend;
};

// The order of the steps is a promise to callers: grants, rules, values. The rules take time for every byte of a
// request, so they are not checked for a caller whose grants lack the method or the organization in any case. Every
// other caller gets the same error for a request that breaks rules.
//
// Each denial is recorded in the call's audit.

// Sets the caller of `record`. Errors: that of `caller`, after recording that the gateway refused `stranger`.
absl::Status RecognizeCaller(const absl::StatusOr<KnownCaller>& caller, const std::string& stranger,
                             CallRecord& record);

// PERMISSION_DENIED if no grant can allow the request, whatever its values are.
absl::Status CheckGrants(const KnownCaller& caller, const RequestedOperation& requested, CallRecord& record);

struct Permission {
  std::string key_name;    // of the key that is to sign; empty for the organization's own
  AuditDecision decision;  // for CallAudit::Allow, or for Deny if the call fails after all
};

// Decides about the values of a request that breaks no rule. Errors: PERMISSION_DENIED.
absl::StatusOr<Permission> Authorize(const KnownCaller& caller, const RequestedOperation& requested,
                                     CallRecord& record);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_AUTHORIZATION_H_
