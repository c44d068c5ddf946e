// The lines of the process's log that calls cause, bounded for each caller.
#ifndef STAMPGATE_GATEWAY_CALLS_CALL_LINES_H_
#define STAMPGATE_GATEWAY_CALLS_CALL_LINES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/process/log.h"

namespace stampgate {

// Shared by all calls. Thread-safe.
//
// A caller that fails again and again must not push the lines of others out of the log. So of each event, kWritten
// lines about one caller are written in a minute; the rest is counted, and "call_lines_left_out" reports the number
// when the minute is over.
class CallLines {
 public:
  static constexpr int kWritten = 30;  // a minute, about one caller and event
  // Callers and events at once. Lines about more of them are counted together, as about kOthers.
  static constexpr size_t kSources = 1024;
  static constexpr char kOthers[] = "(others)";

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

  // Reports what was left out in minutes that are over. To be called again and again.
  void Look();

 private:
  // An event and the caller that it is about.
  using Source = std::pair<std::string, std::string>;

  struct Minute {
    absl::Time began;
    int written = 0;
    uint64_t left_out = 0;
  };

  void Report(bool all);

  const Options options_;
  std::mutex mutex_;
  absl::flat_hash_map<Source, Minute> minutes_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALL_LINES_H_
