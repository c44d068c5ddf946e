// The metrics of the feed of the event log.
#ifndef STAMPGATE_GATEWAY_FEED_FEED_METRICS_H_
#define STAMPGATE_GATEWAY_FEED_FEED_METRICS_H_

#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/registry.h"
#include "gateway/process/unrecognized.h"

namespace stampgate {

// Thread-safe. The registry must outlive this.
class FeedMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit FeedMetrics(MetricRegistry& registry) : registry_(registry) {}

  // Shown only if the config has an event log.
  LateGauge latest_position{
      registry_.AddGauges("stampgate_event_log_latest_position", "Position of the newest event in the event log.")};

  // Events of a type that no message describes, or with a value that no field can hold. An event counts each time that
  // it is encoded.
  UnrecognizedCounters unrecognized{registry_, {"events"}};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_FEED_FEED_METRICS_H_
