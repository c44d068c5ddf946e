// Limits the log lines that each caller can cause.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_LINES_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_LINES_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/process/line_limiter.h"
#include "gateway/process/log.h"

namespace stampgate {

// All calls share one CallLines. Thread-safe.
//
// A caller whose calls fail again and again must not displace other callers' lines from the log. So CallLines admits at
// most kWritten lines a minute for each caller and event. It counts the lines that it does not admit, and reports their
// number in "call_lines_left_out" about a minute after the first of them. For each event, it counts up to
// FloodBound::kStrangers callers separately, and all other callers together under FloodBound::kOthers.
class CallLines {
 public:
  static constexpr int kWritten = 30;          // lines a minute, for each caller and event
  static constexpr int kWrittenOfAnybody = 3;  // the same for an event that everybody who reaches a port can cause

  // Writes one line to the log. Must not block.
  using Write = std::function<void(Severity severity, absl::string_view event, const LogFields& fields)>;

  struct Options {
    bool every_call = false;          // whether calls that were neither refused nor failed get a line call_ended
    std::function<absl::Time()> now;  // the wall clock, which measures the minutes
    Write write;
  };

  explicit CallLines(Options options) : options_(std::move(options)) {}
  // Reports the number of all left-out lines that no report contains yet.
  ~CallLines();

  bool every_call() const { return options_.every_call; }

  // Returns whether a line of `event` about `caller` may be written now. If not, counts the line as left out. `written`
  // is the number of lines a minute, and must be the same in all calls for one event.
  bool Admit(absl::string_view event, absl::string_view caller, int written = kWritten);

  // Writes a line. If a caller can cause the line, requires that Admit has admitted it.
  void WriteLine(Severity severity, absl::string_view event, const LogFields& fields) const {
    options_.write(severity, event, fields);
  }

  // Writes the reports about left-out lines that are due. The gateway must call this function regularly.
  void ReportLeftOut();

 private:
  void Report(bool all);

  const Options options_;
  Mutex mutex_;
  std::map<std::string, FloodBound, std::less<>> bounds_ ABSL_GUARDED_BY(mutex_);  // the bound for each event
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_LINES_H_
