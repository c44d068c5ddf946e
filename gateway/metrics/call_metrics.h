// The metrics of one call.
#ifndef STAMPGATE_GATEWAY_METRICS_CALL_METRICS_H_
#define STAMPGATE_GATEWAY_METRICS_CALL_METRICS_H_

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/metrics/metrics.h"

namespace stampgate {

// Counts one call in Metrics. The call counts as in flight from the creation of this object until End is called or this
// object is destroyed. Only one thread may use this object at a time.
class CallMetrics {
 public:
  // If `metrics` is null, the call is not counted. `metrics` and the text of `method` must outlive this object.
  CallMetrics(Metrics* metrics, absl::string_view method);
  ~CallMetrics();

  CallMetrics(const CallMetrics&) = delete;
  CallMetrics& operator=(const CallMetrics&) = delete;

  // Counts the end of the call. Does nothing if the end is already counted.
  void End(const absl::Status& status);

 private:
  using Clock = std::chrono::steady_clock;

  Metrics* metrics_;  // null after the end was counted
  const absl::string_view method_;
  const Clock::time_point started_ = Clock::now();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_CALL_METRICS_H_
