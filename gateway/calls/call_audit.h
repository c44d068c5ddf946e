// The audit records of one call.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_AUDIT_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_AUDIT_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/audit/log.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/policy/grant.h"
#include "translate/activity_summary.h"

namespace stampgate {

// Returns a decision that contains the organization, path and activity type of the caller's request. CallAudit sets
// `method`.
AuditDecision DecisionAbout(const Question& question);

// Not thread-safe. Without an audit log, CallAudit records nothing and allows every call without waiting.
//
// Every allow record gets an outcome record: if End was not called for an allowed call, the destructor writes the
// outcome UNKNOWN with reason kAbandoned.
class CallAudit {
 public:
  // `log` may be null. `log`, `waits` and the texts must outlive this. Each record of a decision contains `request_id`.
  CallAudit(AuditLog* log, DiskWaits& waits, absl::string_view method, absl::string_view request_id = "")
      : log_(log), waits_(waits), method_(method), request_id_(request_id) {}
  ~CallAudit();

  CallAudit(const CallAudit&) = delete;
  CallAudit& operator=(const CallAudit&) = delete;

  absl::string_view method() const { return method_; }

  // Records that the gateway refused the call with the error `why`, because the gateway does not know the caller.
  // `stranger` is the name that StrangerName returns for the peer.
  void DenyStranger(std::string stranger, const absl::Status& why);

  // Records that the gateway refused a call of `caller`. Sets the caller, method, policy version and request id of
  // `decision`; the other members must already be set.
  void Deny(const KnownCaller& caller, AuditDecision decision);

  // Calls `done` with OK when the allow record is on the disk, or with UNAVAILABLE (AUDIT_UNAVAILABLE) if the record
  // cannot be written, or RESOURCE_EXHAUSTED (TOO_MANY_CALLS) if too many calls of the caller have been recorded but
  // have sent nothing upstream. Sets the same members of `decision` as Deny. Calls `done` exactly once: before Allow
  // returns, later on the audit log's thread, or on the thread that calls a function of DiskWaits. This object must
  // live until `done` has been called.
  void Allow(const KnownCaller& caller, AuditDecision decision, absl::AnyInvocable<void(absl::Status)> done);

  // Does the same as Allow for a call that reads events. Such a call causes no stamp, so AllowRead passes OK to `done`
  // even if the audit log cannot be written, or if its disk hangs. AllowRead fails only if the audit log refuses the
  // read because of its limits (kResourceExhausted). If AllowRead passed OK in this case too, a caller could flood the
  // audit log, and so make reads without a record.
  void AllowRead(const KnownCaller& caller, absl::AnyInvocable<void(absl::Status)> done);

  // Returns whether the call was allowed and recorded, and has not ended.
  bool is_allowed() const { return allow_.has_value(); }

  // Records how an allowed call ended. Must be called once. Does nothing for a call that was not allowed. Records as
  // the call's duration the time since this object was created. `attempts` is how often the request was sent upstream:
  // 0 for a call that has sent nothing.
  void End(const absl::Status& status, const ActivitySummary& activity = {}, std::string fingerprint = "",
           int attempts = 0);

 private:
  // Returns an error if too many calls of the caller have sent nothing.
  absl::Status CheckUnsent(const KnownCaller& caller, AuditLog::Kind kind);
  // See AuditLog::Allow.
  void Record(const KnownCaller& caller, AuditDecision decision, AuditLog::Kind kind,
              absl::AnyInvocable<void(absl::Status)> done);

  using Clock = std::chrono::steady_clock;

  AuditLog* const log_;
  DiskWaits& waits_;
  const absl::string_view method_;
  const absl::string_view request_id_;
  const Clock::time_point started_ = Clock::now();
  std::optional<AuditLog::AllowId> allow_;
  // Set together with allow_.
  AuditLog::Kind allowed_kind_ = AuditLog::Kind::kCalls;
  std::string allowed_caller_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_AUDIT_H_
