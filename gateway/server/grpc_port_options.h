// The settings of the gRPC port.
#ifndef STAMPGATE_GATEWAY_SERVER_GRPC_PORT_OPTIONS_H_
#define STAMPGATE_GATEWAY_SERVER_GRPC_PORT_OPTIONS_H_

#include <grpcpp/server_builder.h>

#include "base/http/current_tls.h"
#include "gateway/callers/access.h"
#include "gateway/calls/call_record.h"
#include "gateway/grpc_port/grpc_port.h"
#include "gateway/grpc_port/grpc_port_metrics.h"
#include "gateway/server/connection_ages.h"
#include "proto/stampgate/config/v1/config.pb.h"

namespace stampgate {

// Sets gRPC's own limits, which protect against peers that are slow, send nothing, or use too much.
void SetGrpcLimits(const config::v1::Config& config, const ConnectionAges& ages, grpc::ServerBuilder& builder);

// Returns the options of the port: the limits of the config, and who is a caller. The connections that the port refuses
// or closes are logged, and counted in `metrics`. `tls`, `access`, `recorders` and `metrics` must outlive the port.
GrpcPort::Options GrpcPortOptionsOf(const config::v1::Config& config, const CurrentTls* tls,
                                    const CurrentAccess& access, const CallRecorders& recorders,
                                    GrpcPortMetrics& metrics);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_SERVER_GRPC_PORT_OPTIONS_H_
