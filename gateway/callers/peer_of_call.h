// The peer of a gRPC call.
#ifndef STAMPGATE_GATEWAY_CALLERS_PEER_OF_CALL_H_
#define STAMPGATE_GATEWAY_CALLERS_PEER_OF_CALL_H_

#include <grpcpp/server_context.h>

#include "gateway/callers/peer.h"

namespace stampgate {

// Returns the peer of a call whose connection a Door has accepted. Returns a stranger if the connection has ended.
Peer PeerOf(const grpc::ServerContextBase& call);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLERS_PEER_OF_CALL_H_
