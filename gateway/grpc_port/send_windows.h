// The flow control of the responses on one connection.
//
// A client of HTTP/2 decides how many bytes of responses it accepts: in all on the connection, and on each stream. gRPC
// keeps what the client does not accept, and waits without end.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_SEND_WINDOWS_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_SEND_WINDOWS_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// The windows as RFC 9113, section 6.9, defines them, and the responses that wait for them. Not thread-safe.
class SendWindows {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Reads the next bytes of the payloads of SETTINGS frames. The bytes of one frame may come in parts.
  void ReadSettings(absl::string_view bytes, Time now);

  // The client accepts `increment` more bytes on `stream`, which must be open, or on the connection if `stream` is 0.
  void Grow(uint32_t stream, uint32_t increment);

  // gRPC has sent the headers of a response, or `bytes` of its messages.
  void Begin(uint32_t stream, Time now);
  void Send(uint32_t stream, size_t bytes, Time now);

  // The stream has ended.
  void End(uint32_t stream) { streams_.erase(stream); }

  // Whether the client has accepted no byte on the connection for `time`, and accepts none.
  bool IsStalled(Time now, std::chrono::nanoseconds time) const { return window_ <= 0 && now - progress_ >= time; }

  // Returns the streams whose response has begun, and whose client has accepted no byte for `time` and accepts none: on
  // the stream, or on the whole connection.
  std::vector<uint32_t> Unread(Time now, std::chrono::nanoseconds time) const;

 private:
  static constexpr int64_t kInitial = 65535;
  static constexpr size_t kSettingBytes = 6;

  struct Stream {
    int64_t grown = 0;  // the window without its initial size
    bool has_response = false;
    Time progress;
  };

  // The client has changed the initial size of the windows. A stream whose window this uses up is not unread yet.
  void SetInitial(uint32_t size, Time now);

  int64_t initial_ = kInitial;
  int64_t window_ = kInitial;  // of the connection
  Time progress_;              // when gRPC last sent bytes of a message
  absl::flat_hash_map<uint32_t, Stream> streams_;
  std::array<uint8_t, kSettingBytes> setting_ = {};  // the beginning of the next setting
  size_t setting_size_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_SEND_WINDOWS_H_
