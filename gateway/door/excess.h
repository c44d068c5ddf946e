// The bounds on what a connection of the gRPC port can make the gateway hold or do.
#ifndef STAMPGATE_GATEWAY_DOOR_EXCESS_H_
#define STAMPGATE_GATEWAY_DOOR_EXCESS_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace stampgate {

// The bound that a connection has exceeded. The gateway then closes the connection.
enum class Excess : size_t {
  kHeaderBytes,        // FrameMeter::Limits::max_header_bytes
  kResets,             // FrameMeter::Limits::max_resets_per_second
  kControlFrames,      // FrameMeter::Limits::max_control_frames_per_second
  kConnections,        // Holdings::Limits::max_connections_per_identity
  kBytesOfConnection,  // Holdings::Limits::max_bytes_per_connection
  kBytesOfIdentity,    // Holdings::Limits::max_bytes_per_identity
  kBytesOfAll,         // Holdings::Limits::max_bytes
};
inline constexpr size_t kExcessCount = 7;

// Returns the reason that a client reads when the gateway closes its connection.
absl::string_view MessageOf(Excess excess);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_DOOR_EXCESS_H_
