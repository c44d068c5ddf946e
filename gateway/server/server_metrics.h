// The metrics of the certificate of the gRPC port.
#ifndef STAMPGATE_GATEWAY_SERVER_SERVER_METRICS_H_
#define STAMPGATE_GATEWAY_SERVER_SERVER_METRICS_H_

#include "gateway/config/reload_count.h"
#include "gateway/metrics/late_gauge.h"
#include "gateway/metrics/registry.h"

namespace stampgate {

// Thread-safe. The registry must outlive this.
class ServerMetrics {
  MetricRegistry& registry_;  // initializes the other members

 public:
  explicit ServerMetrics(MetricRegistry& registry) : registry_(registry) {}

  ReloadCount certificate_reloads{registry_, "certificates"};
  // Shown only if the port has TLS.
  LateGauge certificate_not_after{registry_.AddGauges("stampgate_tls_certificate_not_after_timestamp_seconds",
                                                      "When the certificate of the gRPC port expires, in Unix time.")};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_SERVER_METRICS_H_
