// The metrics of the exchanges with upstream.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_UPSTREAM_METRICS_H_
#define STAMPGATE_GATEWAY_UPSTREAM_UPSTREAM_METRICS_H_

#include <prometheus/labels.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "gateway/metrics/registry.h"
#include "gateway/upstream/options.h"

namespace stampgate {

// Returns the name of the lane for metrics and the log; empty for a number that is no lane.
absl::string_view NameOf(UpstreamLane lane);

// Thread-safe. The registry must outlive this, and this the last collection of the registry.
class UpstreamMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit UpstreamMetrics(MetricRegistry& registry);

  // The metrics of one lane.
  class OfLane {
    MetricRegistry& registry_;
    const prometheus::Labels labels_;

   public:
    OfLane(MetricRegistry& registry, UpstreamLane lane)
        : registry_(registry), labels_{{"lane", std::string(NameOf(lane))}} {}

    Gauge& in_flight =
        registry_.AddGauge("stampgate_upstream_exchanges_in_flight",
                           "Calls that wait for upstream's response, by the kind of their connection.", labels_);
    Gauge& waiting =
        registry_.AddGauge("stampgate_upstream_waiting_calls",
                           "Calls that wait for a connection to upstream, by the kind of the connection.", labels_);
    Histogram& duration =
        registry_.AddDurations("stampgate_upstream_exchange_duration_seconds",
                               "Time until upstream responded or the gateway gave up the exchange.", labels_);
  };

  OfLane& operator[](UpstreamLane lane) { return lanes_[static_cast<size_t>(lane)]; }

  // Sets how many submits are detached, and when the oldest of them was detached. `oldest` is ignored if there is none.
  void SetDetached(size_t count, std::chrono::steady_clock::time_point oldest) {
    oldest_detached_.store(oldest);
    detached.Set(static_cast<double>(count));
  }

  Gauge& detached =
      registry_.AddGauge("stampgate_detached_exchanges", "Submits in progress at upstream whose callers have left.");

 private:
  std::array<OfLane, 3> lanes_ = {OfLane(registry_, UpstreamLane::kSubmit), OfLane(registry_, UpstreamLane::kQuery),
                                  OfLane(registry_, UpstreamLane::kKeySet)};
  Gauge& oldest_detached_age_ =
      registry_.AddGauge("stampgate_detached_exchange_oldest_age_seconds",
                         "Time since the caller of the oldest detached exchange left; 0 if there is none.");
  std::atomic<std::chrono::steady_clock::time_point> oldest_detached_{};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_UPSTREAM_METRICS_H_
