#include "gateway/operations/authorization.h"

#include <utility>

#include "gateway/callers/denial.h"

namespace stampgate {
namespace {

using Purpose = RequestedOperation::Purpose;

AuditDecision DecisionOf(const RequestedOperation& requested, const Question& question) {
  AuditDecision decision = DecisionAbout(question);
  decision.client_stamped = requested.purpose == Purpose::kSendStamped;
  if (requested.purpose == Purpose::kPrepare) decision.prepared_method = requested.operation.full_name;
  return decision;
}

absl::Status Deny(const KnownCaller& caller, const RequestedOperation& requested, AuditDecision decision,
                  std::string why, CallRecord& record) {
  decision.reason = std::move(why);
  record.audit().Deny(caller, std::move(decision));
  return Denied(*caller.caller, requested.operation.full_name);
}

}  // namespace

absl::Status RecognizeCaller(const absl::StatusOr<KnownCaller>& caller, const std::string& stranger,
                             CallRecord& record) {
  if (caller.ok()) {
    record.SetCaller(*caller);
  } else {
    record.DenyStranger(stranger, caller.status());
  }
  return caller.status();
}

absl::Status CheckGrants(const KnownCaller& caller, const RequestedOperation& requested, CallRecord& record) {
  Caller::Decision decided = DecideByGrants(*caller.caller, requested.operation, requested.request);
  if (decided.allowed) return absl::OkStatus();
  AuditDecision decision = DecisionOf(requested, QuestionOf(requested.operation, requested.request));
  return Deny(caller, requested, std::move(decision), std::move(decided.why), record);
}

absl::StatusOr<Permission> Authorize(const KnownCaller& caller, const RequestedOperation& requested,
                                     CallRecord& record) {
  const Question question = QuestionOf(requested.operation, requested.request);
  AuditDecision decision = DecisionOf(requested, question);
  Caller::Decision decided = caller.caller->Decide(question);
  if (decided.allowed) return Permission{std::move(decided.key), std::move(decision)};
  return Deny(caller, requested, std::move(decision), std::move(decided.why), record);
}

}  // namespace stampgate
