// The metrics of the audit log.
#ifndef STAMPGATE_GATEWAY_AUDIT_AUDIT_METRICS_H_
#define STAMPGATE_GATEWAY_AUDIT_AUDIT_METRICS_H_

#include <chrono>
#include <functional>
#include <optional>

#include "base/threads/mutex.h"
#include "gateway/audit/log.h"
#include "gateway/metrics/info.h"
#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// Each metric is shown when it has its first value. Thread-safe. The registry must outlive this, and this the last
// collection of the registry.
class AuditMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  // `now` is the clock for the age of the oldest call without an outcome.
  explicit AuditMetrics(MetricRegistry& registry, std::function<SteadyTime()> now = std::chrono::steady_clock::now);

  void SetHead(const AuditLog::Head& head);
  // Never waits for a collection.
  void SetOpenAllows(const AuditLog::OpenAllows& open);

  LateGauge failing{registry_.AddGauges("stampgate_audit_failing", "1 while the audit log cannot be written.")};
  LateGauge file_bytes{
      registry_.AddGauges("stampgate_audit_file_bytes", "Size of the audit log's current file, in bytes.")};
  LateGauge write_seconds{
      registry_.AddGauges("stampgate_audit_write_seconds",
                          "How long the audit log has waited for its disk, in seconds; 0 if it is not waiting.")};

 private:
  LateGauge head_sequence_{registry_.AddGauges("stampgate_audit_head_sequence",
                                               "Sequence number in the audit log's head that was logged last.")};
  Info head_{registry_, "stampgate_audit_head_info",
             "The audit log's head (number and MAC of a record) that was logged last, for audit verify --head.",
             "head"};
  Gauges& open_allows_ = registry_.AddGauges(
      "stampgate_audit_open_allows", "Allowed calls, and reads of events, that have no outcome in the audit log yet.");
  LateGauge open_calls_{open_allows_, {{"kind", "calls"}}};
  LateGauge open_reads_{open_allows_, {{"kind", "reads"}}};
  LateGauge oldest_open_call_age_{
      registry_.AddGauges("stampgate_audit_oldest_open_call_seconds",
                          "Time since the oldest call without an outcome in the audit log was allowed; 0 if there is "
                          "none.")};

  const std::function<SteadyTime()> now_;
  Mutex mutex_;                                   // held only briefly, because the audit log waits for it
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false;  // whether SetOpenAllows was called
  std::optional<SteadyTime> oldest_open_call_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_AUDIT_METRICS_H_
