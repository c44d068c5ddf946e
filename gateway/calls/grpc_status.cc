#include "gateway/calls/grpc_status.h"

#include <string>

#include "translate/error.h"

namespace stampgate {

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // The numbers of absl's status codes equal the numbers of gRPC's.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()),
                      ToRpcStatus(status).SerializeAsString());
}

}  // namespace stampgate
