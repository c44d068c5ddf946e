// The peer of a gRPC call.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_OF_CALL_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_OF_CALL_H_

#include <grpcpp/server_context.h>

#include <chrono>
#include <memory>

#include "absl/time/time.h"
#include "gateway/callers/peer.h"
#include "gateway/memory/account.h"

namespace stampgate {

// Returns the peer of a call whose connection a GrpcPort has accepted. Returns a stranger if the connection ended long
// ago.
Peer PeerOf(const grpc::ServerContextBase& call);

// Returns what the connection of `call` holds; null if the connection and its calls ended long ago.
std::shared_ptr<MemoryHolder> HolderOf(const grpc::ServerContextBase& call);

// Returns when the connection of `call` will have the age `age`; time_point::max() if `age` is infinite, or if the
// connection ended long ago.
std::chrono::steady_clock::time_point TimeOfAge(const grpc::ServerContextBase& call, absl::Duration age);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_OF_CALL_H_
