#include "gateway/metrics/call_metrics.h"

#include <utility>

#include "absl/time/time.h"

namespace stampgate {

CallMetrics::CallMetrics(Metrics* metrics, absl::string_view method) : metrics_(metrics), method_(method) {
  if (metrics_ != nullptr) metrics_->CallBegan();
}

CallMetrics::~CallMetrics() {
  if (metrics_ != nullptr) metrics_->CallLeft();
}

void CallMetrics::End(const absl::Status& status) {
  if (metrics_ == nullptr) return;
  Metrics* const metrics = std::exchange(metrics_, nullptr);
  metrics->CallEnded(method_, status, absl::FromChrono(Clock::now() - started_));
  metrics->CallLeft();
}

}  // namespace stampgate
