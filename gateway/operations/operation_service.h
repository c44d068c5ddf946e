// The gRPC service that serves the calls of all operations and of StampService.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_OPERATION_SERVICE_H_
#define STAMPGATE_GATEWAY_OPERATIONS_OPERATION_SERVICE_H_

#include <grpcpp/generic/async_generic_service.h>

#include "gateway/operations/environment.h"

namespace stampgate {

inline constexpr char kStampServiceName[] = "stampgate.v1.StampService";

// gRPC passes to this service each call whose method no other service has. The service searches the table of operations
// that is in force when the call begins, so a new table needs no new service. The call uses this table until it ends.
//
// A call of an unknown method ends with UNIMPLEMENTED, before the gateway reads its request or its caller's token.
// Otherwise the service authenticates the caller when it has read the request, and then starts the UnaryHandler of the
// method. It refuses the call while the gateway drains, or if too many calls are in flight. Never blocks.
class OperationService final : public grpc::CallbackGenericService {
 public:
  // `environment` must outlive the service.
  explicit OperationService(const CallEnvironment& environment) : environment_(environment) {}

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override;

 private:
  const CallEnvironment& environment_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_OPERATION_SERVICE_H_
