// A gauge that is shown when it has its first value.
#ifndef STAMPGATE_GATEWAY_METRICS_LATE_GAUGE_H_
#define STAMPGATE_GATEWAY_METRICS_LATE_GAUGE_H_

#include <prometheus/labels.h>

#include <atomic>
#include <utility>

#include "gateway/metrics/registry.h"

namespace stampgate {

// For the metrics of parts that the config can leave out, and for values that the gateway does not know yet.
// Thread-safe. The family must outlive this.
class LateGauge {
 public:
  explicit LateGauge(Gauges& family, prometheus::Labels labels = {}) : family_(family), labels_(std::move(labels)) {}

  LateGauge(const LateGauge&) = delete;
  LateGauge& operator=(const LateGauge&) = delete;

  void Set(double value) { Shown().Set(value); }

  // Returns the gauge, which is shown from now on.
  Gauge& Shown() {
    Gauge* gauge = gauge_.load(std::memory_order_acquire);
    if (gauge == nullptr) {  // if two threads do this at the same time, both get the same gauge
      gauge = &family_.Add(labels_);
      gauge_.store(gauge, std::memory_order_release);
    }
    return *gauge;
  }

 private:
  Gauges& family_;
  const prometheus::Labels labels_;
  std::atomic<Gauge*> gauge_ = nullptr;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_METRICS_LATE_GAUGE_H_
