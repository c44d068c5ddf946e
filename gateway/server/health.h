// The state of the process that the admin port shows.
#ifndef STAMPGATE_GATEWAY_SERVER_HEALTH_H_
#define STAMPGATE_GATEWAY_SERVER_HEALTH_H_

#include <memory>

#include "absl/status/statusor.h"
#include "gateway/admin/liveness.h"
#include "gateway/admin/readiness.h"
#include "gateway/admin/server.h"
#include "gateway/metrics/registry.h"
#include "gateway/server/room_metrics.h"
#include "stampgate/config/v1/config.pb.h"
#include "translate/operation_set/operation_set.h"

namespace stampgate {

// Thread-safe.
struct Health {
  explicit Health(const OperationSet& operations);

  // Sets or clears an obstacle.
  void Show(Readiness::Obstacle obstacle, bool is_there);

  MetricRegistry registry;
  RoomMetrics metrics;
  Readiness readiness;
  Liveness liveness;
};

// Starts the server of the admin port, whose pages show `health`. Returns null if the config has no admin port. Errors:
// those of AdminServer::Start.
absl::StatusOr<std::unique_ptr<AdminServer>> StartAdmin(const config::v1::Config& config, Health& health);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_HEALTH_H_
