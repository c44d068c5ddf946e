// What the audit keeps of one call.
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

// The part of a decision that says what was asked for. `method` is left to CallAudit.
AuditDecision DecisionAbout(const Question& question);

// One thread at a time. Without a log nothing is kept, and everything is allowed at once.
//
// An allow never stays without an outcome: the destructor gives an allowed call that has none the outcome UNKNOWN,
// reason kAbandoned.
class CallAudit {
 public:
  // `log` may be null. It and `waits` outlive this. `request_id` is in each record of a decision.
  CallAudit(AuditLog* log, DiskWaits& waits, std::string method, absl::string_view request_id = "")
      : log_(log), waits_(waits), method_(std::move(method)), request_id_(request_id) {}
  ~CallAudit();

  CallAudit(const CallAudit&) = delete;
  CallAudit& operator=(const CallAudit&) = delete;

  const std::string& method() const { return method_; }

  // The gateway does not know the caller, which showed `stranger` (see StrangerName), and refused the call for `why`.
  void DenyStranger(std::string stranger, const absl::Status& why);

  // A call of `caller` that has been refused. Of `decision` all but caller, method, policy version and request id.
  void Deny(const KnownCaller& caller, AuditDecision decision);

  // Calls `done` once it is on the disk that the call may go on; not if that fails, for which the error is UNAVAILABLE
  // (AUDIT_UNAVAILABLE). Of `decision` all but caller, method, policy version and request id. Called once, possibly at
  // once; else on the log's thread or on that of DiskWaits::EndAll. This must live until `done` has been called.
  void Allow(const KnownCaller& caller, AuditDecision decision, absl::AnyInvocable<void(absl::Status)> done);

  // The same for a call that reads events. It may also go on while nothing can be recorded, which is for what is
  // stamped; but not if too many are recorded at once, or one could read without a record by reading much.
  void AllowRead(const KnownCaller& caller, absl::AnyInvocable<void(absl::Status)> done);

  // Whether the call was allowed, this was recorded, and the call has not ended.
  bool is_allowed() const { return allow_.has_value(); }

  // How a call that was allowed has ended, once. Nothing is kept of one that was not. The call's duration is this
  // object's life until then.
  void End(const absl::Status& status, const ActivitySummary& activity = {}, std::string fingerprint = "");

 private:
  // As AuditLog::Allow has it.
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
