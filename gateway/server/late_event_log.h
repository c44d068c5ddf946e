// The event log whose server could not be reached when the gateway started.
#ifndef STAMPGATE_GATEWAY_SERVER_LATE_EVENT_LOG_H_
#define STAMPGATE_GATEWAY_SERVER_LATE_EVENT_LOG_H_

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stampgate {

// Not thread-safe.
class LateEventLog {
 public:
  // How often Try should be called.
  static constexpr absl::Duration kInterval = absl::Seconds(1);

  struct Options {
    std::function<absl::Status()> open;                     // prepares and opens the log; may block
    std::function<void()> on_open;                          // called once, when `open` has succeeded
    std::function<void(const absl::Status&)> on_new_fault;  // called when `open` fails for another reason than before
  };

  explicit LateEventLog(Options options) : options_(std::move(options)) {}

  // Opens the log, unless an earlier call has done so.
  void Try();

 private:
  const Options options_;
  bool is_open_ = false;
  absl::Status fault_;  // the last one
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_LATE_EVENT_LOG_H_
