// What the metrics keep of one call.
#ifndef STAMPGATE_GATEWAY_METRICS_CALL_METRICS_H_
#define STAMPGATE_GATEWAY_METRICS_CALL_METRICS_H_

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/metrics/metrics.h"

namespace stampgate {

// One thread at a time. The call is in flight from the beginning of this object's life to End, or its own end.
class CallMetrics {
 public:
  // `metrics` may be null, and nothing is counted; it and the text of `method` outlive this.
  CallMetrics(Metrics* metrics, absl::string_view method);
  ~CallMetrics();

  CallMetrics(const CallMetrics&) = delete;
  CallMetrics& operator=(const CallMetrics&) = delete;

  // How the call has ended. Further calls do nothing.
  void End(const absl::Status& status);

 private:
  using Clock = std::chrono::steady_clock;

  Metrics* metrics_;  // null once the end was counted
  const absl::string_view method_;
  const Clock::time_point started_ = Clock::now();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_CALL_METRICS_H_
