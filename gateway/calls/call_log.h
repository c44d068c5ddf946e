// What the process's log says of one call.
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

// What a line says of a call besides its caller, method, end and duration. Empty texts are left out.
struct CallFacts {
  std::string organization_id;
  std::string key;  // name of the key that signs
  ActivitySummary activity;
  std::string fingerprint;  // of a submit
};

// One thread at a time. At most one line for each call, when it ends:
//
//   call_refused  the gateway refused it: for who calls, what it may do, what the request says, or too much at once
//   call_failed   the operator can do something about it
//   call_ended    any other end, if every call is to have a line
//
// Lines of the first two are bounded for each caller, as CallLines says; the others are as many as there are calls.
// Texts that do not come from the config are written as AuditValue writes them.
class CallLog {
 public:
  // `lines` may be null, and nothing is written; it and the text of `method` outlive this. `request_id` is in each
  // line.
  CallLog(CallLines* lines, absl::string_view method, absl::string_view request_id)
      : lines_(lines), method_(method), request_id_(request_id) {}

  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // Who calls, by its name in the config, or, of one who is not known, what it showed: see StrangerName.
  void SetCaller(std::string caller) { caller_ = std::move(caller); }

  // How the call has ended. `facts` is called if a line is written.
  void End(
      const absl::Status& status, absl::FunctionRef<CallFacts()> facts = [] { return CallFacts(); });

  // The call was refused while the gateway drains.
  void EndRefused(const absl::Status& status);

  // Writes "late_outcome" for an exchange that ended after its caller was answered. `outcome` has one field.
  void EndLate(const LogFields& outcome, const std::string& fingerprint);

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
