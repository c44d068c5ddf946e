// The log's lines about deliveries that were not stored.
#ifndef STAMPGATE_GATEWAY_EVENTS_REJECTED_DELIVERY_LOG_H_
#define STAMPGATE_GATEWAY_EVENTS_REJECTED_DELIVERY_LOG_H_

#include <functional>
#include <mutex>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gateway/process/line_limiter.h"
#include "gateway/process/log.h"
#include "webhooks/receiver/intake.h"

namespace stampgate {

// Thread-safe. Bounded, since strangers can cause as many as they like. Of each outcome kPerSecond are written in a
// second, and of the others how many they were. What is about a genuine event is always written.
class DeliveryLog {
 public:
  static constexpr int kPerSecond = 100;

  // Of a line with that event; does not block.
  using Write = std::function<void(absl::string_view event, const LogFields& fields)>;

  DeliveryLog(std::function<absl::Time()> now, Write write);

  // "delivery_not_stored", with the reason; nothing if it was stored, now or before. Also "deliveries_left_out", with
  // the number, of those that were left out a second ago or earlier.
  void Tell(const Intake::Report& report);

  // All that were left out and are not logged yet.
  void Finish();

 private:
  void TellLeftOut(absl::Time now, bool all);

  const std::function<absl::Time()> now_;
  const Write write_;
  std::mutex mutex_;
  FloodBound bound_{{.window = absl::Seconds(1), .per_window = kPerSecond}};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_EVENTS_REJECTED_DELIVERY_LOG_H_
