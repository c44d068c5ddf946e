#include "gateway/calls/grpc_status.h"

#include <string>

#include "translate/error.h"

namespace stampgate {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // absl's codes equal gRPC's.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      ToRpcStatus(status).SerializeAsString());
}

}  // namespace stampgate
