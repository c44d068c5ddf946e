#include "gateway/operations/authorization.h"

#include <utility>

#include "gateway/callers/denial.h"

namespace stampgate {
namespace {

using Purpose = RequestedOperation::Purpose;

AuditDecision DecisionOf(const Operation& operation, Purpose purpose, const Question& question) {
  AuditDecision decision = DecisionAbout(question);
  decision.client_stamped = purpose == Purpose::kSendStamped;
  if (purpose == Purpose::kPrepare) decision.prepared_method = operation.full_name;
  return decision;
}

absl::Status Deny(const KnownCaller& caller, const Operation& operation, AuditDecision decision,
                  const Caller::Decision& decided, CallRecord& record) {
  decision.reason = decided.why;
  record.audit().Deny(caller, std::move(decision));
  return Denied(*caller.caller, operation, decided);
}

// Whether the gateway would stamp a submit without an idempotency key. A stamp of a client fixes the bytes of its
// submit, so that upstream recognizes a repetition.
bool LacksKey(const RequestedOperation& requested) {
  const FieldPlan* key = requested.operation.idempotency_key;
  return requested.purpose == Purpose::kSend && key != nullptr && requested.request.Text(*key).empty();
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

absl::Status CheckMethod(const KnownCaller& caller, const Operation& operation, Purpose purpose, CallRecord& record) {
  const Caller::Decision decided = DecideByMethod(*caller.caller, operation);
  if (decided.allowed) return absl::OkStatus();
  return Deny(caller, operation, DecisionOf(operation, purpose, Question()), decided, record);
}

absl::Status CheckGrants(const KnownCaller& caller, const RequestedOperation& requested, CallRecord& record) {
  const Caller::Decision decided = DecideByGrants(*caller.caller, requested.operation, requested.request);
  if (decided.allowed) return absl::OkStatus();
  AuditDecision decision =
      DecisionOf(requested.operation, requested.purpose, QuestionOf(requested.operation, requested.request));
  return Deny(caller, requested.operation, std::move(decision), decided, record);
}

absl::StatusOr<Permission> Authorize(const KnownCaller& caller, const RequestedOperation& requested,
                                     CallRecord& record) {
  Question question = QuestionOf(requested.operation, requested.request);
  question.request = &requested.values;
  question.lacks_key = LacksKey(requested);
  AuditDecision decision = DecisionOf(requested.operation, requested.purpose, question);
  Caller::Decision decided = caller.caller->Decide(question);
  if (decided.allowed) return Permission{std::move(decided.key), std::move(decision)};
  return Deny(caller, requested.operation, std::move(decision), decided, record);
}

}  // namespace stampgate
