// Hands accepted connections to gRPC.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_ENTRANCE_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_ENTRANCE_H_

#include <grpcpp/server_builder.h>

#include <memory>

#include "gateway/callers/peer_registry.h"
#include "gateway/grpc_port/connection.h"

namespace stampgate {

// Gives connections to one gRPC server. Thread-safe.
//
// The calls of a connection have the address of its RegisteredPeer as their peer address. A call finds the identity of
// its caller by this address.
class Entrance {
 public:
  // Adds an entrance to the server that `builder` will build. The entrance must outlive the server.
  static std::unique_ptr<Entrance> Create(grpc::ServerBuilder& builder);

  virtual ~Entrance() = default;

  // Gives `connection` to gRPC, after its Begin. Releases `use` when gRPC has no more use for the connection. Must be
  // called only while the server serves.
  virtual void Admit(std::shared_ptr<Connection> connection, RegisteredPeer peer, std::shared_ptr<void> use) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_ENTRANCE_H_
