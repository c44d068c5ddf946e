// The metrics of deliveries, of the event log and of its subscribers.
#ifndef STAMPGATE_GATEWAY_DELIVERIES_DELIVERY_METRICS_H_
#define STAMPGATE_GATEWAY_DELIVERIES_DELIVERY_METRICS_H_

#include <cstddef>

#include "gateway/calls/durable_write.h"
#include "gateway/config/reload_count.h"
#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/registry.h"
#include "webhooks/receiver/intake.h"
#include "webhooks/receiver/peer_table.h"

namespace stampgate {

// Each LateGauge is shown only if the config has an event log or a webhook port. Thread-safe. The registry must outlive
// this.
class DeliveryMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit DeliveryMetrics(MetricRegistry& registry) : registry_(registry) {}

  // Shows each outcome of deliveries with 0 until the first delivery with this outcome.
  void ExpectDeliveries();
  void Count(const Intake::Report& report);

  // `peers` are the connections to the webhook port since its start, and `held_bytes` are those that connections and
  // deliveries hold; see PeerTable and Receiver::held_bytes. Only one thread may call ShowPeers at a time.
  void ShowPeers(const PeerTable::Counts& peers, size_t held_bytes);

  Gauge& subscribers = registry_.AddGauge("stampgate_subscribers", "Open subscriptions to events.");
  // Events that were found to be lost or damaged when the event log was opened.
  Counter& lost_events =
      registry_.AddCounter("stampgate_events_lost_total",
                           "Acknowledged events that were lost or damaged on disk when the event log was opened.");
  LateGauge log_failing{registry_.AddGauges("stampgate_event_log_failing",
                                            "1 while the event log cannot store events, and deliveries are refused.")};
  LateGauge log_write_seconds{
      registry_.AddGauges("stampgate_event_log_write_seconds",
                          "How long the event log has waited for its disk, in seconds; 0 if it is not waiting.")};
  LateGauge log_bytes{
      registry_.AddGauges("stampgate_event_log_bytes", "Bytes in use in the event log's file; retention limits them.")};
  LateGauge log_oldest_age{
      registry_.AddGauges("stampgate_event_log_oldest_age_seconds",
                          "Time since the oldest event of the event log was stored; 0 if there is none.")};
  LateGauge subscriber_lag{registry_.AddGauges("stampgate_subscriber_lag_events",
                                               "Events that the slowest subscriber has not received yet.")};
  ReloadCount certificate_reloads{registry_, "webhook_certificates"};
  LateGauge certificate_not_after{
      registry_.AddGauges("stampgate_webhook_tls_certificate_not_after_timestamp_seconds",
                          "When the certificate of the webhook port expires, in Unix time.")};

 private:
  Histogram& event_write_ = AddDurableWrite(registry_, "event");
  Counters& deliveries_ =
      registry_.AddCounters("stampgate_deliveries_total", "Webhook deliveries that got a response, by outcome.");
  Gauges& peers_ = registry_.AddGauges(
      "stampgate_webhook_peers",
      "Connections to the webhook port; no valid delivery has come from the address of unproven ones.");
  Counters& displaced_peers_ = registry_.AddCounters(
      "stampgate_webhook_peers_displaced_total", "Connections to the webhook port that were closed to admit others.");
  Counters& refused_peers_ = registry_.AddCounters("stampgate_webhook_peers_refused_total",
                                                   "Connections to the webhook port that were not admitted.");
  LateGauge held_bytes_{registry_.AddGauges("stampgate_webhook_held_bytes",
                                            "Memory that connections to the webhook port and their deliveries use.")};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DELIVERIES_DELIVERY_METRICS_H_
