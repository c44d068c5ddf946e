// The lines of the process's log that calls cause, bounded for each caller.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_LINES_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_LINES_H_

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/process/line_limiter.h"
#include "gateway/process/log.h"

namespace stampgate {

// Shared by all calls. Thread-safe.
//
// A caller that fails again and again must not push the lines of others out of the log. So of each event, kWritten
// lines about one caller are written in a minute. The rest is counted, and "call_lines_left_out" reports the number
// about a minute after the first. FloodBound::kStrangers callers have lines of one event at once; lines about more of
// them are counted together, as about FloodBound::kOthers.
class CallLines {
 public:
  static constexpr int kWritten = 30;  // a minute, about one caller and event

  // Writes one line; does not block.
  using Write = std::function<void(Severity severity, absl::string_view event, const LogFields& fields)>;

  struct Options {
    bool every_call = false;          // calls that were neither refused nor failed have lines too: "call_ended"
    std::function<absl::Time()> now;  // the minutes are of this clock, which may be stepped
    Write write;
  };

  explicit CallLines(Options options) : options_(std::move(options)) {}
  // Reports what is left out and not reported yet.
  ~CallLines();

  bool every_call() const { return options_.every_call; }

  // Whether a line of `event` about `caller` may be written now. If not, it has been counted.
  bool Admit(absl::string_view event, absl::string_view caller);

  // Writes a line. Those that a caller can cause are to be admitted before.
  void Tell(Severity severity, absl::string_view event, const LogFields& fields) const {
    options_.write(severity, event, fields);
  }

  // Reports the numbers that are due. To be called again and again.
  void Look();

 private:
  void Report(bool all);

  const Options options_;
  std::mutex mutex_;
  std::map<std::string, FloodBound, std::less<>> bounds_;  // by event
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_LINES_H_
