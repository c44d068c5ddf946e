// The bounds on what a connection of the gRPC port can make the gateway hold or do.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_EXCESS_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_EXCESS_H_

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "gateway/memory/account.h"

namespace stampgate {

// The bound that a connection has exceeded. The gateway then closes the connection.
enum class Excess : size_t {
  kHeaderBytes,        // FrameMeter::Limits::max_header_bytes
  kResets,             // FrameMeter::Limits::max_resets_per_second
  kControlFrames,      // FrameMeter::Limits::max_control_frames_per_second
  kConnections,        // MemoryAccount::Limits::max_connections_per_identity
  kConnectionsOfAll,   // GrpcPort::Options::max_connections
  kBytesOfConnection,  // MemoryAccount::Limits::max_bytes_per_connection
  kBytesOfIdentity,    // MemoryAccount::Limits::max_bytes_per_identity
  kBytesOfAll,         // MemoryAccount::Limits::max_bytes
  kUnread,             // Connection::Bounds::max_unread_time
};

// Returns the name of the bound for metrics; empty for a number that is no bound.
absl::string_view NameOf(Excess excess);

// Returns the bound of the connection that stands for a bound of memory.
std::optional<Excess> ExcessOf(std::optional<MemoryBound> limit);

// Returns the reason that a client reads when the gateway closes its connection.
absl::string_view MessageOf(Excess excess);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_EXCESS_H_
