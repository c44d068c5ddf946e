// The gRPC services whose methods are operations: registered from the table, with one handler for all.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_OPERATION_SERVICE_H_
#define STAMPGATE_GATEWAY_OPERATIONS_OPERATION_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <vector>

#include "gateway/operations/environment.h"

namespace stampgate {

// One service of the table. Reflection lists it like a generated one.
class OperationService : public grpc::Service {
 public:
  // Registers `operation`. It and `environment` outlive the service.
  void Add(const CallEnvironment& environment, const Operation& operation);

 private:
  int method_count_ = 0;
};

// All services of `environment`'s table.
std::vector<std::unique_ptr<OperationService>> MakeOperationServices(const CallEnvironment& environment);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_OPERATION_SERVICE_H_
