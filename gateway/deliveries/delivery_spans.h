// The spans of webhook deliveries.
#ifndef STAMPGATE_GATEWAY_DELIVERIES_DELIVERY_SPANS_H_
#define STAMPGATE_GATEWAY_DELIVERIES_DELIVERY_SPANS_H_

#include "gateway/telemetry/tracer.h"
#include "webhooks/receiver/intake.h"

namespace stampgate {

// Makes the spans of deliveries that have ended now. Thread-safe. Does not block. Must not outlive the tracer.
class DeliverySpans {
 public:
  // `has_tls` is whether the webhook port has TLS.
  DeliverySpans(Tracer& tracer, bool has_tls) : tracer_(tracer), has_tls_(has_tls) {}

  // Queues the delivery of `report` if the tracer samples it. Each delivery is a trace of its own: a trace of the
  // sender could be anyone's until the delivery is verified. A request that the receiver has refused has no times, and
  // is not traced, so that a stranger cannot fill the tracer's queue.
  void Add(const Intake::Report& report) const;

 private:
  Tracer& tracer_;
  const bool has_tls_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DELIVERIES_DELIVERY_SPANS_H_
