#include "gateway/grpc_port/excess.h"

namespace stampgate {

std::optional<Excess> ExcessOf(std::optional<MemoryBound> limit) {
  if (!limit.has_value()) return std::nullopt;
  switch (*limit) {
    case MemoryBound::kConnection:
      return Excess::kBytesOfConnection;
    case MemoryBound::kIdentity:
      return Excess::kBytesOfIdentity;
    case MemoryBound::kAll:
      break;
  }
  return Excess::kBytesOfAll;
}

absl::string_view NameOf(Excess excess) {
  switch (excess) {
    case Excess::kHeaderBytes:
      return "header_bytes";
    case Excess::kResets:
      return "resets";
    case Excess::kControlFrames:
      return "control_frames";
    case Excess::kConnections:
      return "connections";
    case Excess::kConnectionsOfAll:
      return "connections_of_all";
    case Excess::kBytesOfConnection:
      return "bytes";
    case Excess::kBytesOfIdentity:
      return "bytes_of_identity";
    case Excess::kBytesOfAll:
      return "bytes_of_all";
    case Excess::kUnread:
      return "unread";
  }
  return "";
}

absl::string_view MessageOf(Excess excess) {
  switch (excess) {
    case Excess::kHeaderBytes:
      return "the headers of a call exceed connections.max_header_bytes";
    case Excess::kResets:
      return "the connection exceeds connections.max_resets_per_second";
    case Excess::kControlFrames:
      return "the connection exceeds connections.max_control_frames_per_second";
    case Excess::kConnections:
      return "the connections with this certificate's identity exceed connections.max_per_identity";
    case Excess::kConnectionsOfAll:
      return "all connections exceed connections.max, and no identity would have more than this certificate's";
    case Excess::kBytesOfConnection:
      return "the memory for the connection exceeds memory.max_bytes_per_connection";
    case Excess::kBytesOfIdentity:
      return "the memory for this certificate's identity exceeds memory.max_bytes_per_identity";
    case Excess::kBytesOfAll:
      return "the memory for all connections exceeds the part of memory.max_bytes for callers";
    case Excess::kUnread:
      return "the client does not read its responses within memory.max_unread_time";
  }
  return "";
}

}  // namespace stampgate
