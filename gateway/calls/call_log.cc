#include "gateway/calls/call_log.h"

#include "absl/strings/string_view.h"
#include "gateway/audit/record.h"
#include "translate/error.h"

namespace stampgate {
namespace {

using absl::StatusCode;

constexpr absl::string_view kRefused = "call_refused";
constexpr absl::string_view kFailed = "call_failed";
constexpr absl::string_view kEnded = "call_ended";

// Whether the gateway refused the call before it sent anything upstream.
bool IsRefusal(StatusCode code, absl::string_view reason) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnauthenticated:
    case StatusCode::kPermissionDenied:
    case StatusCode::kResourceExhausted:
    case StatusCode::kFailedPrecondition:
      return true;
    default:
      return reason == "DEADLINE_TOO_SHORT";
  }
}

// Whether the operator should investigate why the call failed. A drain and the expiry of the caller's token are normal
// ends of a stream.
bool ConcernsOperator(StatusCode code, absl::string_view reason) {
  if (reason == "SHUTTING_DOWN" || reason == "TOKEN_EXPIRED") return false;
  return code == StatusCode::kInternal || code == StatusCode::kUnknown || code == StatusCode::kUnavailable ||
         code == StatusCode::kDataLoss;
}

absl::string_view EventOf(const absl::Status& status) {
  const std::string reason = ErrorReasonOf(status);
  if (IsGatewayError(status) && IsRefusal(status.code(), reason)) return kRefused;
  return ConcernsOperator(status.code(), reason) ? kFailed : kEnded;
}

void Add(absl::string_view name, std::string value, LogFields& fields) {
  if (!value.empty()) fields.emplace_back(name, std::move(value));
}

}  // namespace

void CallLog::End(const absl::Status& status, absl::FunctionRef<CallFacts()> facts) {
  if (lines_ == nullptr || (status.ok() && !lines_->every_call())) return;
  Write(EventOf(status), status, facts);
}

void CallLog::EndRefused(const absl::Status& status) {
  if (lines_ == nullptr) return;
  Write(kRefused, status, [] { return CallFacts(); });
}

void CallLog::Write(absl::string_view event, const absl::Status& status, absl::FunctionRef<CallFacts()> facts) {
  const bool ended = event == kEnded;
  if (ended ? !lines_->every_call() : !lines_->Admit(event, caller_)) return;
  const bool is_ours = IsGatewayError(status);
  LogFields fields = Begin();
  const CallFacts known = facts();
  Add("organization_id", AuditValue(known.organization_id), fields);
  fields.emplace_back("code", absl::StatusCodeToString(status.code()));
  if (is_ours) Add("reason", ErrorReasonOf(status), fields);
  Add("upstream_code", AuditValue(is_ours ? ErrorMetadataOf(status, "upstream_code") : ErrorReasonOf(status)), fields);
  // Only errors of the gateway get their message into the log, because an error text of upstream can repeat what the
  // caller sent.
  if (is_ours) Add("message", std::string(status.message()), fields);
  Add("key", known.key, fields);
  Add("activity_id", AuditValue(known.activity.id), fields);
  Add("fingerprint", known.fingerprint, fields);
  fields.emplace_back("duration_ms", Milliseconds());
  lines_->WriteLine(ended ? Severity::kInfo : Severity::kWarning, event, fields);
}

void CallLog::LogLate(const LogFields& outcome, const std::string& fingerprint) {
  constexpr absl::string_view kLate = "late_outcome";
  if (lines_ == nullptr || !lines_->Admit(kLate, caller_)) return;
  LogFields fields = Begin();
  Add("fingerprint", fingerprint, fields);
  fields.insert(fields.end(), outcome.begin(), outcome.end());
  fields.emplace_back("duration_ms", Milliseconds());
  lines_->WriteLine(Severity::kInfo, kLate, fields);
}

void CallLog::LogOwnMethod(absl::string_view own_method) {
  constexpr absl::string_view kOwnMethod = "own_method_exists";
  if (lines_ == nullptr || !lines_->Admit(kOwnMethod, caller_)) return;
  LogFields fields = Begin();
  fields.emplace_back("own_method", std::string(own_method));
  lines_->WriteLine(Severity::kWarning, kOwnMethod, fields);
}

LogFields CallLog::Begin() const {
  LogFields fields;
  fields.reserve(12);
  fields.emplace_back("request_id", std::string(request_id_));
  Add("caller", AuditValue(caller_), fields);
  fields.emplace_back("method", std::string(method_));
  return fields;
}

double CallLog::Milliseconds() const {
  return std::chrono::duration<double, std::milli>(Clock::now() - started_).count();
}

}  // namespace stampgate
