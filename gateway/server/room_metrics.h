// The metrics of all rooms.
#ifndef STAMPGATE_GATEWAY_SERVER_ROOM_METRICS_H_
#define STAMPGATE_GATEWAY_SERVER_ROOM_METRICS_H_

#include "absl/strings/string_view.h"
#include "gateway/admission/admission_metrics.h"
#include "gateway/audit/audit_metrics.h"
#include "gateway/calls/call_metrics.h"
#include "gateway/config/config_metrics.h"
#include "gateway/deliveries/delivery_metrics.h"
#include "gateway/feed/feed_metrics.h"
#include "gateway/grpc_port/grpc_port_metrics.h"
#include "gateway/metrics/registry.h"
#include "gateway/operations/operation_metrics.h"
#include "gateway/process/process_metrics.h"
#include "gateway/server/server_metrics.h"
#include "gateway/shares/share_metrics.h"
#include "gateway/store/store_metrics.h"
#include "gateway/upstream/upstream_metrics.h"
#include "gateway/waiting/wait_metrics.h"

namespace stampgate {

// Each room counts in its own member. All members are registered at the start, so that the series do not depend on the
// order in which the rooms start, and a room that the config leaves out shows the same series from the start. Only the
// metrics of telemetry are missing here: they are registered if the config has telemetry.
//
// Thread-safe. `registry` must outlive this, and this the last collection of the registry.
struct RoomMetrics {
  // `version` is the version of the program.
  RoomMetrics(MetricRegistry& registry, absl::string_view version) : registry(registry), process(registry, version) {}

  MetricRegistry& registry;
  ProcessMetrics process;
  AdmissionMetrics admission{registry};
  AuditMetrics audit{registry};
  CallMetrics calls{registry};
  ConfigMetrics config{registry};
  DeliveryMetrics deliveries{registry};
  GrpcPortMetrics grpc_port{registry};
  FeedMetrics feed{registry};
  OperationMetrics operations{registry};
  ServerMetrics server{registry};
  ShareMetrics shares{registry};
  StoreMetrics store{registry};
  UpstreamMetrics upstream{registry};
  WaitMetrics waits{registry};
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_ROOM_METRICS_H_
