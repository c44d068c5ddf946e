// Counts the HTTP/2 frames of one connection.
//
// gRPC answers or processes every frame of a client, also frames that only cause work: streams that are reset
// immediately (CVE-2023-44487), pings, settings, empty frames, and headers that never end (CVE-2024-27316). A client
// needs few of them for each call. The meter counts them before gRPC receives them.
#ifndef STAMPGATE_GATEWAY_GRPC_PORT_FRAME_METER_H_
#define STAMPGATE_GATEWAY_GRPC_PORT_FRAME_METER_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "gateway/grpc_port/content_type.h"
#include "gateway/grpc_port/excess.h"
#include "gateway/grpc_port/header_fields.h"
#include "gateway/grpc_port/send_windows.h"

namespace stampgate {

// The frames of one connection, as RFC 9113 defines them. Not thread-safe.
class FrameMeter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Limits {
    // The bytes of the headers of one call, as the client has compressed them. The number of fields is limited to the
    // number that these bytes have at least when they are not compressed.
    size_t max_header_bytes = 32768;
    // The streams that are reset, by the client or because of a fault of the client. During five seconds together, the
    // connection may reset five times as many.
    int max_resets_per_second = 500;
    // The frames that carry no call: PING, SETTINGS, WINDOW_UPDATE, PRIORITY, CONTINUATION, empty DATA, and types that
    // HTTP/2 does not define. During five seconds together, five times as many are allowed. Each call that begins and
    // each frame of a response allow some more, because clients acknowledge data with such frames.
    int max_control_frames_per_second = 500;
  };

  FrameMeter(const Limits& limits, Time now);

  // Counts the next bytes that the client has sent. Returns the first limit that they exceed. The bytes need not end at
  // the end of a frame.
  std::optional<Excess> Receive(absl::string_view bytes, Time now);

  // A request that is not a request of gRPC: its stream, and where its headers end in the bytes of the last Receive.
  struct ForeignRequest {
    uint32_t stream = 0;
    size_t end = 0;
  };

  // Returns the requests of other protocols whose headers have ended in the bytes of the last Receive, in their order.
  // The meter counts each as a stream that the client has reset.
  const std::vector<ForeignRequest>& foreign_requests() const { return foreign_requests_; }

  // Returns the places in the bytes of the last Receive at which the payload of a large DATA frame begins or ends, in
  // their order. gRPC keeps a received part of memory as long as it keeps any byte of it, so that a part with the bytes
  // of two streams could live as long as both.
  const std::vector<size_t>& cuts() const { return cuts_; }

  // Returns the first place in the bytes of the last Receive at which gRPC can receive a frame of another stream: after
  // a frame, and after all headers of its stream.
  std::optional<size_t> first_gap() const { return first_gap_; }

  // Counts the next bytes that gRPC sends.
  void Send(absl::string_view bytes, Time now);

  // The number of streams that the client has opened and that neither side has ended. A stream ends when gRPC has sent
  // its status, or when one side resets the stream.
  size_t open_streams() const { return open_.size(); }

  // About the bytes that gRPC holds for the requests and headers of the open streams.
  size_t open_bytes() const { return open_bytes_; }

  // The number of streams that were reset recently. gRPC releases the memory of such a stream later.
  size_t recent_resets(Time now);

  // The flow control of the responses on the open streams.
  const SendWindows& windows() const { return windows_; }

  // Counts an open stream as one that the client has reset.
  void Reset(uint32_t stream, Time now);

  // Whether the bytes that the client has sent end where gRPC can receive a frame of another stream.
  bool is_in_received_gap() const { return received_.is_between_frames() && (!is_in_headers_ || ends_headers_); }

  // Whether the bytes that gRPC has sent end at the end of a frame.
  bool is_between_sent_frames() const { return sent_.is_between_frames(); }

  // Whether gRPC has sent GOAWAY.
  bool has_sent_go_away() const { return has_sent_go_away_; }

 private:
  // A frame, without its payload.
  struct Frame {
    size_t length = 0;
    uint8_t type = 0;
    uint8_t flags = 0;
    uint32_t stream = 0;
    uint32_t number = 0;  // the code of RST_STREAM, the increment of WINDOW_UPDATE
  };

  // Divides the bytes of one direction into frames.
  class Reader {
   public:
    explicit Reader(size_t preface_bytes) : skip_(preface_bytes) {}
    // Calls `on_frame` for each frame whose header is complete, and then `on_payload` for each part of its payload, at
    // least once: the part is empty if no byte follows. Each part lies in `bytes`.
    void Read(absl::string_view bytes, absl::FunctionRef<void(const Frame&)> on_frame,
              absl::FunctionRef<void(absl::string_view)> on_payload);
    bool is_between_frames() const { return skip_ == 0 && size_ == 0; }

   private:
    static constexpr size_t kHeaderBytes = 9;
    static constexpr size_t kNumberBytes = 4;

    size_t HeadBytes() const;

    size_t skip_;  // the number of bytes before the next frame
    size_t size_ = 0;
    std::array<uint8_t, kHeaderBytes + kNumberBytes> head_ = {};  // the first bytes of the next frame
  };

  // An allowance that grows with time, up to the allowance of five seconds.
  class Allowance {
   public:
    Allowance(int per_second, Time now);
    bool Take(Time now);
    void Add(double more);
    // How much of the allowance of five seconds is used.
    double Used(Time now);

   private:
    void Refill(Time now);

    const double per_second_;
    const double most_;
    double left_;
    Time last_;
  };

  std::optional<Excess> CountReceived(const Frame& frame, Time now);
  std::optional<Excess> CountControlFrame(Time now);
  std::optional<Excess> CountFields(absl::string_view payload);
  // Called when the headers of header_stream_ have ended, `end` bytes after the beginning of the received bytes.
  std::optional<Excess> EndHeaders(size_t end, Time now);
  void AddToStream(uint32_t stream, size_t bytes);
  void End(uint32_t stream);

  const Limits limits_;
  Reader received_;
  Reader sent_;
  Allowance resets_;
  Allowance control_frames_;
  bool sends_faults_ = false;  // whether the resets that gRPC had to send exceed the limit
  // The headers that have begun and not ended: their bytes, their number of fields, and their stream.
  size_t header_bytes_ = 0;
  size_t header_fields_ = 0;
  uint32_t header_stream_ = 0;
  bool is_in_headers_ = false;   // whether the last frame has a part of the headers
  bool is_in_settings_ = false;  // whether the last frame is SETTINGS
  bool is_in_data_ = false;      // whether the last frame is a large DATA frame
  HeaderFields fields_;
  ContentTypeReader content_type_;
  bool is_request_ = false;    // whether the headers begin a stream
  bool ends_headers_ = false;  // whether the last frame ends the headers
  std::vector<ForeignRequest> foreign_requests_;
  std::vector<size_t> cuts_;
  std::optional<size_t> first_gap_;
  // The parts of the last frame that are not headers: the bytes before them, and the number of bytes after them.
  bool has_padding_length_ = false;
  size_t priority_bytes_ = 0;
  size_t fragment_bytes_ = 0;  // the bytes of the headers that have not been read
  uint32_t last_stream_ = 0;
  bool has_sent_go_away_ = false;
  absl::flat_hash_map<uint32_t, size_t> open_;  // for each open stream, the bytes of its DATA frames
  size_t open_bytes_ = 0;
  SendWindows windows_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_GRPC_PORT_FRAME_METER_H_
