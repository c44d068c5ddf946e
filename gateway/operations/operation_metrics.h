// The metrics of the calls that the gateway sends upstream.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_OPERATION_METRICS_H_
#define STAMPGATE_GATEWAY_OPERATIONS_OPERATION_METRICS_H_

#include "gateway/calls/durable_write.h"
#include "gateway/metrics/registry.h"
#include "gateway/process/unrecognized.h"

namespace stampgate {

// Thread-safe. The registry must outlive this.
class OperationMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit OperationMetrics(MetricRegistry& registry) : registry_(registry) {}

  // The time for which calls waited for the record of their decision, and for their idempotency key.
  Histogram& decision_write = AddDurableWrite(registry_, "decision");
  Histogram& key_write = AddDurableWrite(registry_, "idempotency_key");

  // Responses with a value that no field can hold.
  UnrecognizedCounters unrecognized{registry_};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_OPERATION_METRICS_H_
