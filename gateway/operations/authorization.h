// Decides whether a caller may make a request. OperationCall and PrepareCall share these steps.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_AUTHORIZATION_H_
#define STAMPGATE_GATEWAY_OPERATIONS_AUTHORIZATION_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/call_audit.h"
#include "gateway/calls/call_record.h"
#include "translate/message/parsed_message.h"
#include "translate/operation_table.h"

namespace stampgate {

// A request for an operation, and what the gateway must do with it. Keeps references to the operation and to the
// request.
struct RequestedOperation {
  enum class Purpose {
    kSend,         // the gateway stamps the request and sends it
    kSendStamped,  // a client has stamped the request, and the gateway sends it
    kPrepare,      // the gateway returns the body of the request, and a client stamps the body
  };

  const Operation& operation;
  const ParsedMessage& request;
  Purpose purpose = Purpose::kSend;
  // The request whose values the grants check: `request`, or the same request in the form of the operation's own method
  // (CheckedRequest::carried).
  const ParsedMessage& values;
};

// Callers can rely on the order of the checks. First, CheckMethod checks that a grant has the method, before the
// gateway decodes the request. Second, CheckGrants checks that a grant has the method for the organization. Third, the
// gateway checks the request against the rules for its fields. Last, Authorize checks the values of the request against
// the grants. Decoding and the check of the rules take time for every byte of a request. So the gateway omits them for
// a caller whose grants lack the method or the organization. All other callers get the same error for the same faulty
// request, whichever values their grants allow.
//
// If a function below denies the call, it records the denial in the audit log.

// Stores the caller in `record`. If `caller` is an error, records that the gateway refused the peer named `stranger`,
// and returns the error.
absl::Status RecognizeCaller(const absl::StatusOr<KnownCaller>& caller, const std::string& stranger,
                             CallRecord& record);

// Returns PERMISSION_DENIED if no grant allows `operation` for any organization. The record of the denial contains
// neither an organization nor a general operation, because the gateway has not decoded the request.
absl::Status CheckMethod(const KnownCaller& caller, const Operation& operation, RequestedOperation::Purpose purpose,
                         CallRecord& record);

// Returns PERMISSION_DENIED if no grant allows the operation for the organization of the request.
absl::Status CheckGrants(const KnownCaller& caller, const RequestedOperation& requested, CallRecord& record);

struct Permission {
  std::string key_name;    // the key that must sign; if empty, the organization's own key signs
  AuditDecision decision;  // to be passed to CallAudit::Allow, or to CallAudit::Deny if a later step denies the call
};

// Decides whether the grants allow the values of a request. Requires that the request breaks no rule for its fields.
// Errors: PERMISSION_DENIED, or INVALID_ARGUMENT if only the idempotency key that a grant requires is missing.
absl::StatusOr<Permission> Authorize(const KnownCaller& caller, const RequestedOperation& requested,
                                     CallRecord& record);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_AUTHORIZATION_H_
