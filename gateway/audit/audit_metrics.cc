#include "gateway/audit/audit_metrics.h"

#include <utility>

namespace stampgate {

AuditMetrics::AuditMetrics(MetricRegistry& registry, std::function<SteadyTime()> now)
    : registry_(registry), now_(std::move(now)) {
  registry.BeforeCollect([this] {
    const MutexLock lock(mutex_);
    if (!is_open_) return;
    const SteadyTime time = now_();
    oldest_open_call_age_.Set(std::chrono::duration<double>(time - oldest_open_call_.value_or(time)).count());
  });
}

void AuditMetrics::SetHead(const AuditLog::Head& head) {
  head_sequence_.Set(static_cast<double>(head.sequence));
  head_.Set(head.ToString());
}

void AuditMetrics::SetOpenAllows(const AuditLog::OpenAllows& open) {
  open_calls_.Set(static_cast<double>(open.calls));
  open_reads_.Set(static_cast<double>(open.reads));
  const MutexLock lock(mutex_);
  is_open_ = true;
  oldest_open_call_ = open.oldest_call;
}

}  // namespace stampgate
