// Reports when a disk or a server that the process waits for hangs.
#ifndef STAMPGATE_GATEWAY_PROCESS_HANG_WATCH_H_
#define STAMPGATE_GATEWAY_PROCESS_HANG_WATCH_H_

#include <functional>
#include <string>

#include "absl/time/time.h"

namespace stampgate {

// Not thread-safe.
class HangWatch {
 public:
  // How often Look should be called.
  static constexpr absl::Duration kInterval = absl::Seconds(1);

  struct Options {
    std::string what;                           // begins the names of the lines, such as "event_log"
    std::string waits_for;                      // for the line, such as "the disk of the event log"
    std::function<absl::Duration()> under_way;  // returns how long the current wait has taken so far
    std::function<void(absl::Duration under_way)> observe = nullptr;  // for a metric; may be empty
    std::function<void(bool hangs)> on_change = nullptr;              // may be empty
  };

  explicit HangWatch(Options options);

  // Passes how long the current wait has taken to `observe`. When this time first exceeds kWriteHangsAfter, logs
  // "<what>_hangs", and calls `on_change` with true. When this time no longer exceeds the limit, logs
  // "<what>_works_again", and calls `on_change` with false.
  void Look();

 private:
  const Options options_;
  bool hangs_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_HANG_WATCH_H_
