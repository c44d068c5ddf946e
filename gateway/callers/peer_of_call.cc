#include "gateway/callers/peer_of_call.h"

#include <optional>

#include "gateway/callers/peer_registry.h"

namespace stampgate {

Peer PeerOf(const grpc::ServerContextBase& call) {
  const std::optional<uint64_t> id = ConnectionIdOf(call.peer());
  return id.has_value() ? FindPeer(*id) : Peer{};
}

}  // namespace stampgate
