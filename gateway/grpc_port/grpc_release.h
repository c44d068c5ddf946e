// Which releases of gRPC may serve callers from other hosts.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_GRPC_RELEASE_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_GRPC_RELEASE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/stampgate/config/v1/config.pb.h"

namespace stampgate {

// Returns false for releases before 1.83, whose HTTP/2 has known faults. `release` is such as "1.51.1".
bool IsMaintainedGrpc(absl::string_view release);

// Checks that a gateway with this release of gRPC may serve with `config`. A gateway with an old release serves on
// loopback only, unless the config has `allow_old_grpc`. Error: kFailedPrecondition.
absl::Status CheckGrpcRelease(absl::string_view release, const config::v1::Config& config);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_GRPC_RELEASE_H_
