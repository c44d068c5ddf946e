// Counts one call in the metrics.
#ifndef STAMPGATE_GATEWAY_CALLS_COUNTED_CALL_H_
#define STAMPGATE_GATEWAY_CALLS_COUNTED_CALL_H_

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gateway/calls/call_metrics.h"

namespace stampgate {

// The call counts as in flight from the creation of this object until End is called or this object is destroyed. Only
// one thread may use this object at a time.
class CountedCall {
 public:
  // `metrics` and the text of `method` must outlive this object.
  CountedCall(CallMetrics& metrics, absl::string_view method);
  ~CountedCall();

  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  // Counts the end of the call. Does nothing if the end is already counted.
  void End(const absl::Status& status);

 private:
  using Clock = std::chrono::steady_clock;

  CallMetrics& metrics_;
  const absl::string_view method_;
  const Clock::time_point started_ = Clock::now();
  bool ended_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_COUNTED_CALL_H_
