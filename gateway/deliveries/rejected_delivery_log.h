// Logs the deliveries that were not stored.
#ifndef STAMPGATE_GATEWAY_DELIVERIES_REJECTED_DELIVERY_LOG_H_
#define STAMPGATE_GATEWAY_DELIVERIES_REJECTED_DELIVERY_LOG_H_

#include <functional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/process/line_limiter.h"
#include "gateway/process/log.h"
#include "webhooks/receiver/intake.h"

namespace stampgate {

// Thread-safe. Strangers can send any number of deliveries, so DeliveryLog limits its lines: for each outcome, it
// writes at most kPerSecond lines in a second, and later one line with the number of left-out lines. It does not limit
// lines about verified events.
class DeliveryLog {
 public:
  static constexpr int kPerSecond = 100;

  // Writes a line of the log with the name `event` and these fields. Must not block.
  using Write = std::function<void(absl::string_view event, const LogFields& fields)>;

  DeliveryLog(std::function<absl::Time()> now, Write write);

  // If `report` does not state that the event is stored, writes "delivery_not_stored" with the reason. Also writes
  // "deliveries_left_out" with the number of lines that were left out in past seconds.
  void Add(const Intake::Report& report);

  // Writes "deliveries_left_out" for all left-out lines that no line has reported yet.
  void Finish();

 private:
  void WriteLeftOut(absl::Time now, bool all) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<absl::Time()> now_;
  const Write write_;
  Mutex mutex_;
  FloodBound bound_ ABSL_GUARDED_BY(mutex_){{.window = absl::Seconds(1), .per_window = kPerSecond}};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DELIVERIES_REJECTED_DELIVERY_LOG_H_
