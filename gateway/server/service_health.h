// The health of each service, which gRPC's health service reports.
#ifndef STAMPGATE_GATEWAY_SERVER_SERVICE_HEALTH_H_
#define STAMPGATE_GATEWAY_SERVER_SERVICE_HEALTH_H_

#include <grpcpp/health_check_service_interface.h>

#include <set>
#include <string>
#include <vector>

namespace stampgate {

// By default gRPC reports only the health of the whole server. Not thread-safe.
class ServiceHealth {
 public:
  // `health` must outlive this.
  explicit ServiceHealth(grpc::HealthCheckServiceInterface& health) : health_(health) {}

  // From now on, `services` are SERVING, except those of gRPC itself. A service that was SERVING before becomes
  // NOT_SERVING, because gRPC's health service cannot forget a service.
  void Report(const std::vector<std::string>& services);

 private:
  grpc::HealthCheckServiceInterface& health_;
  std::set<std::string> serving_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_SERVICE_HEALTH_H_
