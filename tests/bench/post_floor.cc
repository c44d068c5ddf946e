// Measures the least that one POST over TLS can cost: sends the bytes of a captured request over kept-alive connections
// with OpenSSL and epoll, and searches the end of each response. With --rate, begins the requests at fixed times, and
// measures the latency that a client has without a gateway.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/latencies.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/read_file.h"

ABSL_FLAG(std::string, base_url, "", "https://IP:PORT");
ABSL_FLAG(std::string, ca_file, "", "PEM file");
ABSL_FLAG(std::string, request, "", "path of the captured request, without the endings .head and .body");
ABSL_FLAG(int, in_flight, 64, "number of requests in flight, each on a connection of its own");
ABSL_FLAG(int, rate, 0, "requests to begin each second; 0 begins a request when the previous one has ended");
ABSL_FLAG(absl::Duration, warm_up, absl::Milliseconds(400), "duration of the load before the measurement");
ABSL_FLAG(absl::Duration, measure, absl::Seconds(2), "duration of the measurement");

namespace stampgate::bench {
namespace {

struct Connection {
  SSL* ssl = nullptr;
  std::string response;
  absl::Time started;
};

// Returns the size of the response whose first bytes are `bytes`; nothing if its head is not complete.
std::optional<size_t> ResponseSize(absl::string_view bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  if (end == absl::string_view::npos) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(bytes.substr(0, end), "\r\n")) {
    const std::string lower = absl::AsciiStrToLower(line);
    absl::string_view value = lower;
    size_t length = 0;
    if (absl::ConsumePrefix(&value, "content-length:") && absl::SimpleAtoi(value, &length)) return end + 4 + length;
  }
  return std::nullopt;
}

class PostFloor {
 public:
  bool Run() {
    request_ = ReadFile(absl::GetFlag(FLAGS_request) + ".head") + ReadFile(absl::GetFlag(FLAGS_request) + ".body");
    connections_.resize(absl::GetFlag(FLAGS_in_flight));
    for (Connection& connection : connections_) {
      if (!Connect(connection)) return Failed("cannot connect");
      idle_.push_back(&connection);
    }
    prctl(PR_SET_TIMERSLACK, 1);
    next_ = absl::Now();
    if (!RunUntil(absl::Now() + absl::GetFlag(FLAGS_warm_up))) return false;
    latencies_.Clear();
    const absl::Time begin = absl::Now();
    const absl::Duration cpu = ProcessCpu(0).value();
    if (!RunUntil(begin + absl::GetFlag(FLAGS_measure))) return false;
    latencies_.Print(ProcessCpu(0).value() - cpu, absl::Now() - begin);
    std::printf("\n");
    return !latencies_.empty();
  }

 private:
  static bool Failed(const char* why) {
    std::fprintf(stderr, "post_floor: %s\n", why);
    return false;
  }

  bool Connect(Connection& connection) {
    const std::vector<std::string> parts = absl::StrSplit(absl::GetFlag(FLAGS_base_url), absl::ByAnyChar("/:"));
    int port = 0;
    if (parts.size() < 5 || !absl::SimpleAtoi(parts[4], &port)) return false;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    if (inet_pton(AF_INET, parts[3].c_str(), &address.sin_addr) != 1 ||
        connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) != 0) {
      return false;
    }
    static SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
    if (SSL_CTX_load_verify_file(context, absl::GetFlag(FLAGS_ca_file).c_str()) != 1) return false;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    connection.ssl = SSL_new(context);
    SSL_set_fd(connection.ssl, fd);
    SSL_set_read_ahead(connection.ssl, 1);
    if (SSL_connect(connection.ssl) != 1) return false;
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.ptr = &connection;
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) == 0;
  }

  // Requests are so small that a connection always accepts a whole one.
  bool Start(Connection& connection, absl::Time started) {
    connection.started = started;
    connection.response.clear();
    return SSL_write(connection.ssl, request_.data(), static_cast<int>(request_.size())) ==
           static_cast<int>(request_.size());
  }

  // Begins the requests that are due.
  bool StartDue() {
    const int rate = absl::GetFlag(FLAGS_rate);
    const absl::Time now = absl::Now();
    while (!idle_.empty() && (rate == 0 || next_ <= now)) {
      Connection& connection = *idle_.back();
      idle_.pop_back();
      if (!Start(connection, rate == 0 ? now : next_)) return Failed("cannot write");
      if (rate != 0) next_ += absl::Seconds(1) / rate;
    }
    return true;
  }

  bool RunUntil(absl::Time end) {
    while (absl::Now() < end) {
      if (!StartDue()) return false;
      epoll_event events[256];
      timespec wait = {.tv_sec = 1, .tv_nsec = 0};
      if (absl::GetFlag(FLAGS_rate) != 0) {
        wait = absl::ToTimespec(std::max(std::min(next_, end) - absl::Now(), absl::ZeroDuration()));
      }
      const int count = epoll_pwait2(poll_, events, 256, &wait, nullptr);
      for (int i = 0; i < count; ++i) {
        if (!Read(*static_cast<Connection*>(events[i].data.ptr))) return false;
      }
    }
    return true;
  }

  bool Read(Connection& connection) {
    char bytes[16384];
    int size;
    while ((size = SSL_read(connection.ssl, bytes, sizeof(bytes))) > 0) connection.response.append(bytes, size);
    if (SSL_get_error(connection.ssl, size) != SSL_ERROR_WANT_READ) return Failed("the connection has ended");
    const std::optional<size_t> whole = ResponseSize(connection.response);
    if (!whole.has_value() || connection.response.size() < *whole) return true;
    latencies_.Add(absl::Now() - connection.started);
    idle_.push_back(&connection);
    return true;
  }

  const int poll_ = epoll_create1(EPOLL_CLOEXEC);
  std::string request_;
  std::vector<Connection> connections_;
  std::vector<Connection*> idle_;
  absl::Time next_;  // when the next request is due
  Latencies latencies_;
};

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stampgate::bench::PostFloor().Run() ? 0 : 1;
}
