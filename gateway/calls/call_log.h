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

// What a line contains besides the caller, method, code and duration. Empty texts are omitted.
struct CallFacts {
  std::string organization_id;
  std::string key;  // name of the key that signs
  ActivitySummary activity;
  std::string fingerprint;  // for a submit
};

// One thread at a time. Writes at most one line for each call, when it ends:
//
//   call_refused  the gateway refused it: unknown caller, no permission, invalid request, or too many at once
//   call_failed   it failed in a way that the operator should look at
//   call_ended    it ended in another way; only if every call is logged
//
// Lines of the first two kinds are bounded for each caller, see CallLines; those of the third are not. Texts that do
// not come from the config are written in the form of AuditValue.
class CallLog {
 public:
  // If `lines` is null, nothing is written. It and the text of `method` must outlive this. `request_id` is in each
  // line.
  CallLog(CallLines* lines, absl::string_view method, absl::string_view request_id)
      : lines_(lines), method_(method), request_id_(request_id) {}

  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // The caller's name in the config or, for an unknown caller, the name that StrangerName makes.
  void SetCaller(std::string caller) { caller_ = std::move(caller); }

  // Logs how the call ended. Calls `facts` only if it writes a line.
  void End(
      const absl::Status& status, absl::FunctionRef<CallFacts()> facts = [] { return CallFacts(); });

  // Logs that the call was refused because the gateway is draining.
  void EndRefused(const absl::Status& status);

  // Logs "late_outcome": the outcome of an exchange that continued after its caller had left. `outcome` has one field.
  void LogLate(const LogFields& outcome, const std::string& fingerprint);

 private:
  using Clock = std::chrono::steady_clock;

  void Write(absl::string_view event, const absl::Status& status, absl::FunctionRef<CallFacts()> facts);
  LogFields Begin() const;
  double Milliseconds() const;

  CallLines* const lines_;
  const absl::string_view method_;
  const std::string request_id_;
  const Clock::time_point started_ = Clock::now();
  std::string caller_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_LOG_H_
