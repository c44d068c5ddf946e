// The metric of the writes for which calls and deliveries wait.
#ifndef STAMPGATE_GATEWAY_CALLS_DURABLE_WRITE_H_
#define STAMPGATE_GATEWAY_CALLS_DURABLE_WRITE_H_

#include "gateway/metrics/registry.h"

namespace stampgate {

// Adds the histogram of the time until a write was durable or had failed. `write` is what is written.
inline Histogram& AddDurableWrite(MetricRegistry& registry, const char* write) {
  return registry.AddDurations("stampgate_durable_write_seconds",
                               "Time for which calls and deliveries waited until a write was durable or had failed.",
                               {{"write", write}});
}

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_DURABLE_WRITE_H_
