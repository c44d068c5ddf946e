#include "gateway/callers/peer_of_call.h"

#include <optional>

#include "gateway/callers/peer_registry.h"

namespace stampgate {

Peer PeerOf(const grpc::ServerContextBase& call) {
  const std::optional<uint64_t> id = ConnectionIdOf(call.peer());
  return id.has_value() ? FindPeer(*id) : Peer{};
}

std::shared_ptr<MemoryHolder> HolderOf(const grpc::ServerContextBase& call) {
  const std::optional<uint64_t> id = ConnectionIdOf(call.peer());
  return id.has_value() ? FindHolder(*id) : nullptr;
}

std::chrono::steady_clock::time_point TimeOfAge(const grpc::ServerContextBase& call, absl::Duration age) {
  using Time = std::chrono::steady_clock::time_point;
  if (age == absl::InfiniteDuration()) return Time::max();
  const std::optional<uint64_t> id = ConnectionIdOf(call.peer());
  const std::optional<Time> began = id.has_value() ? BeginOfConnection(*id) : std::nullopt;
  return began.has_value() ? *began + absl::ToChronoNanoseconds(age) : Time::max();
}

}  // namespace stampgate
