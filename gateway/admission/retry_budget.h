// Limits how often the gateway sends requests again, so that retries do not multiply the load of a failing upstream.
#ifndef STAMPGATE_GATEWAY_ADMISSION_RETRY_BUDGET_H_
#define STAMPGATE_GATEWAY_ADMISSION_RETRY_BUDGET_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/admission/admission_metrics.h"
#include "gateway/admission/recent_seconds.h"
#include "gateway/admission/retry_policy.h"

namespace stampgate {

// In the last ten seconds, the retries were at most a tenth of the requests, or at most ten. Thread-safe.
class RetryBudget {
 public:
  // Counts each result of Take in `metrics`, which must outlive this.
  explicit RetryBudget(AdmissionMetrics& metrics) : metrics_(metrics) {}

  // Counts a request that is sent for the first time.
  void CountRequest(absl::Time now) {
    const MutexLock lock(mutex_);
    recent_.Add(kRequest, now);
  }

  // Returns whether a request may be sent again, and counts the retry if so.
  bool Take(RetryCause cause, absl::Time now) {
    const MutexLock lock(mutex_);
    const auto [requests, retries] = recent_.Sum(now);
    const bool may = retries < kFreeRetries || retries < requests / kRequestsPerRetry;
    if (may) recent_.Add(kRetry, now);
    (may ? metrics_.retries : metrics_.withheld_retries)[cause].Increment();
    return may;
  }

 private:
  enum Kind { kRequest, kRetry };

  static constexpr int64_t kFreeRetries = 10;
  static constexpr int64_t kRequestsPerRetry = 10;

  AdmissionMetrics& metrics_;
  Mutex mutex_;
  RecentSeconds<2> recent_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_RETRY_BUDGET_H_
