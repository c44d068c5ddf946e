// The gRPC services whose methods are operations. One handler serves all operations of the table.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_OPERATION_SERVICE_H_
#define STAMPGATE_GATEWAY_OPERATIONS_OPERATION_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <vector>

#include "gateway/operations/environment.h"

namespace stampgate {

// One gRPC service whose methods are operations. Server reflection lists this service like a generated one.
class OperationService : public grpc::Service {
 public:
  // Registers `operation`. `environment` and `operation` must outlive the service.
  void Add(const CallEnvironment& environment, const Operation& operation);

 private:
  int method_count_ = 0;
};

// Returns the services of all operations in `environment`.
std::vector<std::unique_ptr<OperationService>> MakeOperationServices(const CallEnvironment& environment);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_OPERATION_SERVICE_H_
