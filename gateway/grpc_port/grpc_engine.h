// Makes gRPC run on the event loops of the process.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_GRPC_ENGINE_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_GRPC_ENGINE_H_

#include <memory>

#include "base/loop/event_loops.h"

namespace stampgate {

// While this object lives, gRPC runs its tasks and timers on `loops`. A task runs on the loop that has caused it, so
// all work for a connection happens on the loop of the connection. A task that another thread has caused runs on any
// loop.
//
// gRPC can then only be a server, and only with a GrpcPort: it can neither listen nor connect. Construct one object at
// most, before the first use of gRPC, and destroy it when gRPC is no longer used: the destructor waits until gRPC has
// ended its last connection.
class GrpcEngine {
 public:
  explicit GrpcEngine(std::shared_ptr<EventLoops> loops);
  ~GrpcEngine();
  GrpcEngine(const GrpcEngine&) = delete;
  GrpcEngine& operator=(const GrpcEngine&) = delete;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_GRPC_ENGINE_H_
