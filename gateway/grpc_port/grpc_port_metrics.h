// The metrics of the gRPC port.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_GRPC_PORT_METRICS_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_GRPC_PORT_METRICS_H_

#include "gateway/grpc_port/excess.h"
#include "gateway/grpc_port/grpc_port.h"
#include "gateway/grpc_port/handshake_failure.h"
#include "gateway/metrics/by_value.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// Thread-safe. The registry must outlive this.
class GrpcPortMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit GrpcPortMetrics(MetricRegistry& registry) : registry_(registry) {}

  void Show(const GrpcPort::Usage& usage) {
    connections_.Set(static_cast<double>(usage.connections));
    handshakes_.Set(static_cast<double>(usage.handshakes));
    held_bytes_.Set(static_cast<double>(usage.held_bytes));
  }

  ByValue<Counter, HandshakeFailure> failed_handshakes{
      registry_.AddCounters("stampgate_tls_handshakes_failed_total",
                            "Failed TLS handshakes of callers, by the step that failed."),
      "reason"};
  ByValue<Counter, Excess> closed_connections{
      registry_.AddCounters("stampgate_connections_closed_total",
                            "Connections of callers that the gateway closed, by the exceeded limit."),
      "reason"};
  Counter& unread_responses = registry_.AddCounter(
      "stampgate_unread_responses_total", "Responses that the gateway ended because their clients had not read them.");

 private:
  Gauge& connections_ = registry_.AddGauge("stampgate_connections", "Connections to the gRPC port.");
  Gauge& handshakes_ = registry_.AddGauge("stampgate_tls_handshakes", "TLS handshakes in progress on the gRPC port.");
  Gauge& held_bytes_ = registry_.AddGauge("stampgate_connection_held_bytes",
                                          "Memory that the clients of the gRPC port make the gateway hold, in bytes.");
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_GRPC_PORT_METRICS_H_
