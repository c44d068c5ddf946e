#include "gateway/grpc_port/grpc_engine.h"

namespace stampgate {

// This gRPC runs on its own threads.
GrpcEngine::GrpcEngine(std::shared_ptr<EventLoops> /*loops*/) {}
GrpcEngine::~GrpcEngine() = default;

}  // namespace stampgate
