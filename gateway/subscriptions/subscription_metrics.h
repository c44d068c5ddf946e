// The metrics of shared subscriptions.
#ifndef STAMPGATE_GATEWAY_SUBSCRIPTIONS_SUBSCRIPTION_METRICS_H_
#define STAMPGATE_GATEWAY_SUBSCRIPTIONS_SUBSCRIPTION_METRICS_H_

#include <string>

#include "gateway/metrics/by_value.h"
#include "gateway/metrics/registry.h"
#include "gateway/subscriptions/delivery_reason.h"

namespace stampgate {

// The metrics of one subscription, each with the label `subscription`. The gauges are about what this gateway has: the
// sum or, for a time or a distance, the maximum over all gateways is that of the subscription. Thread-safe. The
// registry must outlive this.
class SubscriptionMetrics {
  // These two initialize the other members.
  MetricRegistry& registry_;
  const prometheus::Labels name_;

 public:
  SubscriptionMetrics(MetricRegistry& registry, const std::string& name)
      : registry_(registry), name_({{"subscription", name}}) {}

  ByValue<Counter, DeliveryReason> deliveries{
      registry_.AddCounters("stampgate_subscription_deliveries_total",
                            "Deliveries of events to consumers of shared subscriptions."),
      "reason", name_};
  Counter& parks = registry_.AddCounter("stampgate_subscription_parks_total", "Events that were parked.", name_);
  Counter& lost_events = registry_.AddCounter(
      "stampgate_subscription_lost_events_total",
      "Positions of the event log that are missing and that the subscription had not passed.", name_);
  Counter& failed_writes =
      registry_.AddCounter("stampgate_subscription_failed_writes_total",
                           "Writes of the state of a shared subscription that have failed.", name_);
  Histogram& done_seconds = registry_.AddDurations(
      "stampgate_subscription_done_seconds", "Time from the storing of an event until it was settled as done.", name_);

  Gauge& events_behind =
      registry_.AddGauge("stampgate_subscription_events_behind",
                         "Events of the event log after the position of the shared subscription.", name_);
  Gauge& oldest_age = registry_.AddGauge(
      "stampgate_subscription_oldest_age_seconds",
      "Time since the oldest event was stored that is not settled or parked; 0 if there is none.", name_);
  Gauge& unsettled =
      registry_.AddGauge("stampgate_subscription_unsettled_events", "Events that consumers hold.", name_);
  Gauge& parked = registry_.AddGauge("stampgate_subscription_parked_events", "Events that are parked.", name_);
  Gauge& consumers = registry_.AddGauge("stampgate_subscription_consumers", "Streams of consumers.", name_);
  Gauge& lagging_keys = registry_.AddGauge("stampgate_subscription_lagging_keys",
                                           "Keys with a position of their own; at most 1000.", name_);
  Gauge& partitions =
      registry_.AddGauge("stampgate_subscription_partitions",
                         "Partitions that this gateway has, of 16 that all gateways have together.", name_);
  Gauge& settings_overruled = registry_.AddGauge(
      "stampgate_subscription_settings_overruled",
      "1 if the settings of another gateway's config apply, which differ from those of this gateway.", name_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SUBSCRIPTIONS_SUBSCRIPTION_METRICS_H_
