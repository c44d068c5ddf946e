// The metrics of one call.
#ifndef STAMPGATE_GATEWAY_METRICS_CALL_METRICS_H_
#define STAMPGATE_GATEWAY_METRICS_CALL_METRICS_H_

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/metrics/metrics.h"

namespace stampgate {

// One thread at a time. The call counts as in flight from this object's creation to End or destruction.
class CallMetrics {
 public:
  // If `metrics` is null, nothing is counted. It and the text of `method` must outlive this.
  CallMetrics(Metrics* metrics, absl::string_view method);
  ~CallMetrics();

  CallMetrics(const CallMetrics&) = delete;
  CallMetrics& operator=(const CallMetrics&) = delete;

  // Counts the call's end. Only the first call of this function counts.
  void End(const absl::Status& status);

 private:
  using Clock = std::chrono::steady_clock;

  Metrics* metrics_;  // null once the end was counted
  const absl::string_view method_;
  const Clock::time_point started_ = Clock::now();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_CALL_METRICS_H_
