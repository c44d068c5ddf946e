// Records one call in the audit log, in the metrics, in the log and in its trace.
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
#include "gateway/calls/call_metrics.h"
#include "gateway/calls/call_spans.h"
#include "gateway/calls/counted_call.h"
#include "gateway/calls/disk_waits.h"
#include "gateway/calls/trace_context.h"
#include "gateway/telemetry/tracer.h"

namespace stampgate {

// The audit log, the metrics, the log and the tracer in which the gateway records calls. They must outlive all calls.
struct CallRecorders {
  AuditLog* audit;  // if null, nothing is audited, and every call is allowed without waiting
  DiskWaits& disk_waits;
  CallMetrics& metrics;
  CallLines* lines;          // if null, nothing is logged
  Tracer* tracer = nullptr;  // if null, nothing is traced
};

// The record of one call. Not thread-safe. The call begins when this object is constructed. Its end must be recorded
// once: with End or EndRefused, or with Answer and later EndLate.
class CallRecord {
 public:
  // `recorders` and the text of `method` must outlive this. Each record of a decision and each log line contains the
  // id of `trace`.
  CallRecord(const CallRecorders& recorders, absl::string_view method, const TraceContext& trace)
      : trace_(trace),
        audit_(recorders.audit, recorders.disk_waits, method, trace_.trace_id()),
        counted_(recorders.metrics, method),
        log_(recorders.lines, method, trace_.trace_id()),
        spans_(recorders.tracer, trace, method) {}

  absl::string_view method() const { return audit_.method(); }

  void SetCaller(const KnownCaller& caller) {
    log_.SetCaller(caller.caller->name());
    spans_.SetCaller(caller.caller->name());
  }

  // Records that the gateway refuses the call with the error `why`, because the gateway does not know the caller.
  // `stranger` is the name that StrangerName returns for the peer.
  void DenyStranger(const std::string& stranger, const absl::Status& why) {
    log_.SetCaller(stranger);
    audit_.DenyStranger(stranger, why);
  }

  // Records that the caller called an operation through GeneralService that has a method of its own, `own_method`.
  void NoteOwnMethod(absl::string_view own_method) { log_.LogOwnMethod(own_method); }

  // Returns the audit records of the call, in which a later step records the decision about the call.
  CallAudit& audit() { return audit_; }

  // Returns the spans of the call, to which each step of the call belongs.
  CallSpans& spans() { return spans_; }

  // Records that the call has ended with `status`. Calls `facts` if the audit log or the log records the end.
  void End(
      const absl::Status& status, absl::FunctionRef<CallFacts()> facts = [] { return CallFacts(); });

  // Records that the caller gets the reply `status` while the exchange with upstream continues.
  void Answer(const absl::Status& status, absl::FunctionRef<CallFacts()> facts);

  // Records that the exchange that continued after Answer has ended. `outcome` is the field of the log line that names
  // the outcome. `status` is the status that corresponds to this outcome.
  void EndLate(const absl::Status& status, const CallFacts& facts, const LogFields& outcome);

  // Records that the gateway refuses the call because the gateway drains or because too many calls are in flight.
  // `caller` is the caller's name in the config or, if the gateway does not know the caller, the StrangerName of the
  // peer.
  void EndRefused(const std::string& caller, const absl::Status& status);

 private:
  const TraceContext trace_;
  CallAudit audit_;
  CountedCall counted_;
  CallLog log_;
  CallSpans spans_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_RECORD_H_
