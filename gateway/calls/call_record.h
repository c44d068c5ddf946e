// What the gateway records about one call: in the audit, in the metrics and in the process's log.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_RECORD_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_RECORD_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/audit/log.h"
#include "gateway/callers/authenticator.h"
#include "gateway/calls/call_audit.h"
#include "gateway/calls/call_lines.h"
#include "gateway/calls/call_log.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/metrics/call_metrics.h"
#include "gateway/metrics/metrics.h"

namespace stampgate {

// Where calls are recorded. Outlives all calls.
struct CallRecorders {
  AuditLog* audit;  // null: nothing is audited, and everything is allowed at once
  DiskWaits& disk_waits;
  Metrics* metrics;  // null: nothing is counted
  CallLines* lines;  // null: nothing is logged
};

// One thread at a time. The call begins with this object, and ends once: with End, or with Answer and EndLate.
class CallRecord {
 public:
  // `recorders` and the text of `method` outlive this. `request_id` is in each audit record and in each line.
  CallRecord(const CallRecorders& recorders, absl::string_view method, absl::string_view request_id)
      : audit_(recorders.audit, recorders.disk_waits, std::string(method), request_id),
        metrics_(recorders.metrics, method),
        log_(recorders.lines, method, request_id) {}

  const std::string& method() const { return audit_.method(); }

  void SetCaller(const KnownCaller& caller) { log_.SetCaller(caller.caller->name()); }

  // The gateway does not know the caller, which showed `stranger` (see StrangerName), and refuses the call for `why`.
  void DenyStranger(const std::string& stranger, const absl::Status& why) {
    log_.SetCaller(stranger);
    audit_.DenyStranger(stranger, why);
  }

  // For the decision about the call.
  CallAudit& audit() { return audit_; }

  // The call has ended with `status`. `facts` is called where something is written.
  void End(
      const absl::Status& status, absl::FunctionRef<CallFacts()> facts = [] { return CallFacts(); });

  // The caller is answered with `status`, while the exchange with upstream continues.
  void Answer(const absl::Status& status, absl::FunctionRef<CallFacts()> facts);

  // That exchange has ended with `outcome`, which is one field for the log, and which means `status`.
  void EndLate(const absl::Status& status, const CallFacts& facts, const LogFields& outcome);

  // The gateway drains and refuses the call.
  void EndRefused(const std::string& stranger, const absl::Status& status);

 private:
  CallAudit audit_;
  CallMetrics metrics_;
  CallLog log_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_RECORD_H_
