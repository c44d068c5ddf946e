#include "gateway/door/excess.h"

namespace stampgate {

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
    case Excess::kBytesOfConnection:
      return "the unfinished calls of the connection exceed connections.max_bytes_per_connection";
    case Excess::kBytesOfIdentity:
      return "the unfinished calls of this certificate's identity exceed connections.max_bytes_per_identity";
    case Excess::kBytesOfAll:
      return "the unfinished calls of all connections exceed connections.max_bytes";
  }
  return "";
}

}  // namespace stampgate
