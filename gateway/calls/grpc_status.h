// Converts the gateway's errors to gRPC's form.
#ifndef STAMPGATE_GATEWAY_CALLS_GRPC_STATUS_H_
#define STAMPGATE_GATEWAY_CALLS_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace stampgate {

// Returns a status with the code and message of `status`. Converts the payloads of `status` to a google.rpc.Status in
// the error details.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_GRPC_STATUS_H_
