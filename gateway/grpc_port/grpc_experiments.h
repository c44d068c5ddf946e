// gRPC's optional behaviours, which gRPC calls experiments.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_GRPC_EXPERIMENTS_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_GRPC_EXPERIMENTS_H_

namespace stampgate {

// Chooses experiments of gRPC by its environment variable GRPC_EXPERIMENTS:
//   fuse_filters                     One filter takes several steps of a call: about 5 % less CPU time. An operator who
//                                    sets the variable to "-fuse_filters" turns this off.
//   skip_clear_peer_on_cancellation  gRPC remembers the peer of a call until the call is destroyed. Otherwise, gRPC
//                                    forgets it as soon as the call is cancelled or its deadline passes, which can be
//                                    before the gateway has asked for it. An operator cannot turn this off.
// Other experiments in the variable stay. Must be called before the first use of gRPC, while the process has one
// thread.
void ChooseGrpcExperiments();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_GRPC_EXPERIMENTS_H_
