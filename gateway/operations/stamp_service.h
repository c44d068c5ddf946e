// The gRPC service StampService, which prepares the bodies that end users stamp.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_STAMP_SERVICE_H_
#define STAMPGATE_GATEWAY_OPERATIONS_STAMP_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include "gateway/operations/environment.h"

namespace stampgate {

inline constexpr char kStampServiceName[] = "stampgate.v1.StampService";

// `environment` must outlive the service.
class StampService : public grpc::Service {
 public:
  explicit StampService(const CallEnvironment& environment);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_STAMP_SERVICE_H_
