// Decides whether a caller may make a request. OperationCall and PrepareCall share these steps.
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

// A request for an operation, and what the gateway must do with it. Keeps references to the operation and to the
// request.
struct RequestedOperation {
  enum class Purpose {
    kSend,         // the gateway stamps and sends it
    kSendStamped,  // a client has stamped it, the gateway sends it
    kPrepare,      // the gateway returns the body, and a client stamps it
  };

  const Operation& operation;
  const google::protobuf::Message& request;
  Purpose purpose = Purpose::kSend;
};

// Callers may rely on the order of the checks: first the grants, then the rules for the fields, then the values.
// Checking the rules takes time for every byte of a request. So the gateway does not check them if the caller's grants
// lack the method or the organization. Every other caller gets the same error for a request that breaks rules.
//
// Each function records its denial in the audit of the call.

// Stores the caller in `record`. If `caller` is an error, records that the gateway refused the peer named `stranger`,
// and returns that error.
absl::Status RecognizeCaller(const absl::StatusOr<KnownCaller>& caller, const std::string& stranger,
                             CallRecord& record);

// Returns PERMISSION_DENIED if no grant can allow the request, whatever its values are.
absl::Status CheckGrants(const KnownCaller& caller, const RequestedOperation& requested, CallRecord& record);

struct Permission {
  std::string key_name;    // the key that must sign; if empty, the organization's own key signs
  AuditDecision decision;  // for CallAudit::Allow, or for CallAudit::Deny if a later step denies the call
};

// Decides whether the grants allow the values of a request, which must break no rule. Errors: PERMISSION_DENIED.
absl::StatusOr<Permission> Authorize(const KnownCaller& caller, const RequestedOperation& requested,
                                     CallRecord& record);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_AUTHORIZATION_H_
