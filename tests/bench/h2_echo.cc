// The least that a gRPC server can cost: reads a message and returns another, with nghttp2 and epoll on one thread, and
// without TLS.
//
//   h2_echo /package.Service/Method=BYTES...    makes each method respond with BYTES bytes

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace stampgate::bench {
namespace {

// The responses by method: messages with the five bytes of gRPC before each.
std::map<std::string, std::string, std::less<>>& Responses() {
  static auto& responses = *new std::map<std::string, std::string, std::less<>>;
  return responses;
}

nghttp2_nv Field(absl::string_view name, absl::string_view value) {
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

struct Call {
  const std::string* response = nullptr;
  size_t sent = 0;
};

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {
    nghttp2_session_callbacks* callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, &Connection::OnBegin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, &Connection::OnHeader);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, &Connection::OnFrame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, &Connection::OnEnd);
    nghttp2_session_server_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1024};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &entry, 1);
  }
  ~Connection() {
    nghttp2_session_del(session_);
    close(fd_);
  }

  // Reads and answers what has arrived. Returns false when the connection has ended.
  bool Serve() {
    uint8_t bytes[65536];
    ssize_t size;
    while ((size = recv(fd_, bytes, sizeof(bytes), 0)) > 0) {
      if (nghttp2_session_mem_recv2(session_, bytes, static_cast<size_t>(size)) < 0) return false;
    }
    if (size == 0 || errno != EAGAIN) return false;
    const uint8_t* out;
    nghttp2_ssize more;
    while ((more = nghttp2_session_mem_send2(session_, &out)) > 0) {
      unsent_.append(reinterpret_cast<const char*>(out), static_cast<size_t>(more));
    }
    const ssize_t written = send(fd_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (written > 0) unsent_.erase(0, static_cast<size_t>(written));
    return more == 0;
  }

 private:
  static int OnBegin(nghttp2_session*, const nghttp2_frame* frame, void* self) {
    static_cast<Connection*>(self)->calls_[frame->hd.stream_id] = {};
    return 0;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* self) {
    if (absl::string_view(reinterpret_cast<const char*>(name), name_size) != ":path") return 0;
    const auto found = Responses().find(absl::string_view(reinterpret_cast<const char*>(value), value_size));
    if (found != Responses().end()) {
      static_cast<Connection*>(self)->calls_[frame->hd.stream_id].response = &found->second;
    }
    return 0;
  }

  static int OnFrame(nghttp2_session* session, const nghttp2_frame* frame, void* data) {
    auto* self = static_cast<Connection*>(data);
    if (frame->hd.stream_id == 0 || (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return 0;
    const Call& call = self->calls_[frame->hd.stream_id];
    const nghttp2_nv head[] = {Field(":status", "200"), Field("content-type", "application/grpc")};
    if (call.response == nullptr) return NGHTTP2_ERR_CALLBACK_FAILURE;
    const nghttp2_data_provider2 body = {{.ptr = nullptr}, &Connection::OnData};
    return nghttp2_submit_response2(session, frame->hd.stream_id, head, 2, &body);
  }

  static nghttp2_ssize OnData(nghttp2_session* session, int32_t stream, uint8_t* into, size_t size, uint32_t* flags,
                              nghttp2_data_source*, void* self) {
    Call& call = static_cast<Connection*>(self)->calls_[stream];
    const size_t part = std::min(size, call.response->size() - call.sent);
    std::copy_n(call.response->data() + call.sent, part, into);
    call.sent += part;
    if (call.sent == call.response->size()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
      const nghttp2_nv status = Field("grpc-status", "0");
      nghttp2_submit_trailer(session, stream, &status, 1);
    }
    return static_cast<nghttp2_ssize>(part);
  }

  static int OnEnd(nghttp2_session*, int32_t stream, uint32_t, void* self) {
    static_cast<Connection*>(self)->calls_.erase(stream);
    return 0;
  }

  const int fd_;
  nghttp2_session* session_ = nullptr;
  std::map<int32_t, Call> calls_;
  std::string unsent_;
};

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    uint32_t size = 0;
    if (equals == std::string::npos || !absl::SimpleAtoi(argument.substr(equals + 1), &size)) {
      std::fprintf(stderr, "h2_echo: not METHOD=BYTES: %s\n", argv[i]);
      return 2;
    }
    std::string response(1, '\0');
    for (const int shift : {24, 16, 8, 0}) response += static_cast<char>(size >> shift);
    Responses()[argument.substr(0, equals)] = response + std::string(size, 'x');
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN;
  if (bind(listening, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listening, 128) != 0 ||
      getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      epoll_ctl(poll, EPOLL_CTL_ADD, listening, &event) != 0) {
    std::perror("h2_echo");
    return 1;
  }
  std::printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  while (true) {
    epoll_event events[64];
    const int count = epoll_wait(poll, events, 64, -1);
    for (int i = 0; i < count; ++i) {
      auto* connection = static_cast<Connection*>(events[i].data.ptr);
      if (connection != nullptr) {
        if (!connection->Serve()) delete connection;
        continue;
      }
      const int fd = accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      const int yes = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
      event.data.ptr = new Connection(fd);
      epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
    }
  }
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) { return stampgate::bench::Main(argc, argv); }
