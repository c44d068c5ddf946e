// The log line of one call.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_LOG_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_LOG_H_

#include <chrono>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/calls/call_lines.h"
#include "translate/activity_summary.h"

namespace stampgate {

// The fields of a line besides the caller, method, code and duration. The log omits empty texts.
struct CallFacts {
  std::string organization_id;
  std::string key;  // the name of the key that signs
  ActivitySummary activity;
  std::string fingerprint;  // set only for a submit
  int attempts = 0;         // how often the request was sent to upstream
};

// Writes at most one line about a call when the call ends. Not thread-safe. The events of the line are:
//
//   call_refused  the gateway refused the call: unknown caller, no permission, invalid request, or too many calls
//   call_failed   the call failed in a way that the operator should investigate
//   call_ended    the call ended in another way; the log writes this line only if the config wants a line for each call
//
// CallLines limits the lines call_refused and call_failed of each caller, but not the lines call_ended. If a text does
// not come from the config, CallLog writes it in the form that AuditValue returns.
class CallLog {
 public:
  // If `lines` is null, CallLog writes nothing. `lines` and the texts must outlive this. Each line contains
  // `request_id`.
  CallLog(CallLines* lines, absl::string_view method, absl::string_view request_id)
      : lines_(lines), method_(method), request_id_(request_id) {}

  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // Sets the caller's name in the config or, for an unknown caller, its StrangerName.
  void SetCaller(std::string caller) { caller_ = std::move(caller); }

  // Logs how the call ended. Calls `facts` only if the log writes a line about the call.
  void End(
      const absl::Status& status, absl::FunctionRef<CallFacts()> facts = [] { return CallFacts(); });

  // Logs that the gateway refused the call because the gateway drains or because too many calls are in flight.
  void EndRefused(const absl::Status& status);

  // Logs "own_method_exists": GeneralService carried the call of an operation that has the method `own_method`, and
  // will refuse it in a later release. CallLines limits these lines for each caller.
  void LogOwnMethod(absl::string_view own_method);

  // Logs "late_outcome": the outcome of an exchange that continued after the caller had received its reply. `outcome`
  // contains one field.
  void LogLate(const LogFields& outcome, const std::string& fingerprint);

 private:
  using Clock = std::chrono::steady_clock;

  void Write(absl::string_view event, const absl::Status& status, absl::FunctionRef<CallFacts()> facts);
  LogFields Begin() const;
  double Milliseconds() const;

  CallLines* const lines_;
  const absl::string_view method_;
  const absl::string_view request_id_;
  const Clock::time_point started_ = Clock::now();
  std::string caller_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_LOG_H_
