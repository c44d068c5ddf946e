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

// Returns a decision whose members describe the caller's request. CallAudit sets `method`.
AuditDecision DecisionAbout(const Question& question);

// Not thread-safe. Without an audit log, it records nothing and allows every call without waiting.
//
// Every allow gets an outcome: for an allowed call without one, the destructor writes the outcome UNKNOWN with reason
// kAbandoned.
class CallAudit {
 public:
  // `log` may be null. `log` and `waits` must outlive this. Each record of a decision contains `request_id`.
  CallAudit(AuditLog* log, DiskWaits& waits, std::string method, absl::string_view request_id = "")
      : log_(log), waits_(waits), method_(std::move(method)), request_id_(request_id) {}
  ~CallAudit();

  CallAudit(const CallAudit&) = delete;
  CallAudit& operator=(const CallAudit&) = delete;

  const std::string& method() const { return method_; }

  // Records that the gateway refused the call with `why`, because it does not know the caller. `stranger` is the name
  // that StrangerName returns for the peer.
  void DenyStranger(std::string stranger, const absl::Status& why);

  // Records a refused call of `caller`. `decision` has all members except caller, method, policy version and request
  // id.
  void Deny(const KnownCaller& caller, AuditDecision decision);

  // Calls `done` with OK once the allow record is on the disk, or with UNAVAILABLE (AUDIT_UNAVAILABLE) if that fails.
  // `decision` has all members except caller, method, policy version and request id. Calls `done` once: before Allow
  // returns, or later on the log's thread or on the thread of DiskWaits::EndAll. This object must live until `done` has
  // been called.
  void Allow(const KnownCaller& caller, AuditDecision decision, absl::AnyInvocable<void(absl::Status)> done);

  // Does the same as Allow for a call that reads events. Such a call causes no stamp, so AllowRead succeeds also while
  // the audit log cannot be written. It still fails if too many reads are open. Otherwise a caller could hide reads
  // from the audit log by flooding the log.
  void AllowRead(const KnownCaller& caller, absl::AnyInvocable<void(absl::Status)> done);

  // Returns whether the call was allowed and recorded, and has not ended.
  bool is_allowed() const { return allow_.has_value(); }

  // Records how an allowed call ended. Must be called once. Does nothing for a call that was not allowed. The call's
  // duration is the time since this object was created.
  void End(const absl::Status& status, const ActivitySummary& activity = {}, std::string fingerprint = "");

 private:
  // See AuditLog::Allow.
  void Record(const KnownCaller& caller, AuditDecision decision, AuditLog::Room room,
              absl::AnyInvocable<void(absl::Status)> done);

  using Clock = std::chrono::steady_clock;

  AuditLog* const log_;
  DiskWaits& waits_;
  const std::string method_;
  const std::string request_id_;
  const Clock::time_point started_ = Clock::now();
  std::optional<AuditLog::AllowId> allow_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_AUDIT_H_
