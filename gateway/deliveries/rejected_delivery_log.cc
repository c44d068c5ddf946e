#include "gateway/deliveries/rejected_delivery_log.h"

#include <utility>

namespace stampgate {

DeliveryLog::DeliveryLog(std::function<absl::Time()> now, Write write)
    : now_(std::move(now)), write_(std::move(write)) {}

void DeliveryLog::Add(const Intake::Report& report) {
  if (report.outcome == "stored" || report.outcome == "duplicate") return;
  const MutexLock lock(mutex_);
  const absl::Time now = now_();
  if (bound_.counting()) WriteLeftOut(now, false);
  if (report.event_id.empty() && !bound_.Admit(report.outcome, FloodBound::Who::kKnown, now)) return;
  LogFields fields = {{"http_status", report.http_status},
                      {"outcome", report.outcome},
                      {"header", report.header},
                      {"event_id", report.event_id}};
  if (!report.cause.empty()) fields.emplace_back("message", report.cause);
  write_("delivery_not_stored", fields);
}

void DeliveryLog::Finish() {
  const MutexLock lock(mutex_);
  WriteLeftOut(now_(), true);
}

void DeliveryLog::WriteLeftOut(absl::Time now, bool all) {
  for (const FloodBound::Counted& counted : bound_.Take(now, all)) {
    write_("deliveries_left_out", {{"outcome", counted.name}, {"count", counted.count}});
  }
}

}  // namespace stampgate
