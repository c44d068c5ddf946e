#include "gateway/calls/call_audit.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "translate/error.h"

namespace stampgate {
namespace {

absl::Status NotRecorded() {
  Error error = GatewayError(absl::StatusCode::kUnavailable, v1::ERROR_REASON_AUDIT_UNAVAILABLE,
                             "the decision about this call could not be recorded");
  error.retry_delay = absl::Seconds(1);
  return ToStatus(error);
}

// Returns the outcome for a call that ended before its allow record was on the disk, and that sent nothing.
AuditOutcome NothingSent() {
  AuditOutcome outcome;
  outcome.code = absl::StatusCodeToString(absl::StatusCode::kUnavailable);
  outcome.reason = ErrorReasonOf(NotRecorded());
  return outcome;
}

}  // namespace

AuditDecision DecisionAbout(const Question& question) {
  AuditDecision decision;
  decision.organization_id = std::string(question.organization_id.value_or(""));
  decision.path = std::string(question.general_path);
  decision.activity_type = std::string(question.general_type);
  return decision;
}

CallAudit::~CallAudit() {
  if (!allow_.has_value()) return;
  AuditOutcome outcome;
  outcome.code = absl::StatusCodeToString(absl::StatusCode::kUnknown);
  outcome.reason = kAbandoned;
  log_->End(*allow_, outcome);
}

void CallAudit::DenyStranger(std::string stranger, const absl::Status& why) {
  if (log_ == nullptr) return;
  AuditDecision decision;
  decision.caller = std::move(stranger);
  decision.method = std::string(method_);
  decision.request_id = std::string(request_id_);
  decision.reason = std::string(why.message());
  log_->Deny(decision);
}

void CallAudit::Deny(const KnownCaller& caller, AuditDecision decision) {
  if (log_ == nullptr) return;
  decision.caller = caller.caller->name();
  decision.method = std::string(method_);
  decision.request_id = std::string(request_id_);
  decision.policy_version = caller.access->version;
  log_->Deny(decision);
}

absl::Status CallAudit::CheckUnsent(const KnownCaller& caller, AuditLog::Kind kind) {
  if (log_ == nullptr) return absl::OkStatus();
  const std::optional<absl::Duration> wait = log_->unsent_allows(kind).Refuse(caller.caller->name());
  if (!wait.has_value()) return absl::OkStatus();
  const absl::string_view which =
      log_->unsent_allows(kind).scarce()
          ? ", because the disk of the audit log is almost full"
          : " that are recorded and send nothing upstream, such as Prepare and reads of events";
  Error error = GatewayError(
      absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_TOO_MANY_CALLS,
      absl::StrCat("caller ", caller.caller->name(), " has made too many calls", which, "; nothing was sent upstream"));
  error.retry_delay = *wait;
  return ToStatus(error);
}

void CallAudit::Allow(const KnownCaller& caller, AuditDecision decision, absl::AnyInvocable<void(absl::Status)> done) {
  if (absl::Status status = CheckUnsent(caller, AuditLog::Kind::kCalls); !status.ok()) return done(std::move(status));
  Record(caller, std::move(decision), AuditLog::Kind::kCalls,
         [done = std::move(done)](const absl::Status& recorded) mutable {
           done(recorded.ok() ? absl::OkStatus() : NotRecorded());
         });
}

void CallAudit::AllowRead(const KnownCaller& caller, absl::AnyInvocable<void(absl::Status)> done) {
  if (absl::Status status = CheckUnsent(caller, AuditLog::Kind::kReads); !status.ok()) return done(std::move(status));
  Record(caller, {}, AuditLog::Kind::kReads, [done = std::move(done)](const absl::Status& recorded) mutable {
    done(absl::IsResourceExhausted(recorded) ? NotRecorded() : absl::OkStatus());
  });
}

void CallAudit::Record(const KnownCaller& caller, AuditDecision decision, AuditLog::Kind kind,
                       absl::AnyInvocable<void(absl::Status)> done) {
  if (log_ == nullptr) return done(absl::OkStatus());
  decision.caller = caller.caller->name();
  decision.method = std::string(method_);
  decision.request_id = std::string(request_id_);
  decision.policy_version = caller.access->version;
  auto guarded = waits_.Guard<AuditLog::AllowId>(
      DiskWaits::Writer::kAuditLog,
      [this, kind, caller = decision.caller, done = std::move(done)](absl::StatusOr<AuditLog::AllowId> allow) mutable {
        if (allow.ok()) {
          allow_ = *allow;
          allowed_kind_ = kind;
          allowed_caller_ = std::move(caller);
        }
        done(allow.status());
      },
      [log = log_](AuditLog::AllowId allow) { log->End(allow, NothingSent()); });
  log_->Allow(decision, std::move(guarded), kind);
}

void CallAudit::End(const absl::Status& status, const ActivitySummary& activity, std::string fingerprint,
                    int attempts) {
  if (!allow_.has_value()) return;
  AuditOutcome outcome;
  outcome.code = absl::StatusCodeToString(status.code());
  outcome.reason = ErrorReasonOf(status);
  outcome.activity_id = activity.id;
  outcome.activity_status = activity.status;
  outcome.fingerprint = std::move(fingerprint);
  outcome.attempts = attempts;
  outcome.duration = absl::FromChrono(Clock::now() - started_);
  log_->End(*std::exchange(allow_, std::nullopt), outcome);
  log_->unsent_allows(allowed_kind_).Count(allowed_caller_, /*sent=*/attempts > 0);
}

}  // namespace stampgate
