// The metrics of the call store.
#ifndef STAMPGATE_GATEWAY_STORE_STORE_METRICS_H_
#define STAMPGATE_GATEWAY_STORE_STORE_METRICS_H_

#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// All are shown only if the config has a store. Thread-safe. The registry must outlive this.
class StoreMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit StoreMetrics(MetricRegistry& registry) : registry_(registry) {}

  LateGauge keys{registry_.AddGauges("stampgate_idempotency_keys", "Idempotency keys in the store.")};
  LateGauge failing{
      registry_.AddGauges("stampgate_call_store_failing", "1 while the store of idempotency keys cannot be written.")};
  LateGauge write_seconds{registry_.AddGauges(
      "stampgate_call_store_write_seconds",
      "How long the store of idempotency keys has waited for its disk or server, in seconds; 0 if it is not waiting.")};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_STORE_METRICS_H_
