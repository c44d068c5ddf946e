// Sends webhook deliveries, which it signs before the measurement, over kept-alive connections. Measures the server's
// CPU for each delivery, the deliveries per second, and the response times. Prints one line of name=value pairs. Exits
// with 1 if a response was not 200.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/bench/keyed_body.h"
#include "tests/bench/latencies.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/read_file.h"
#include "tests/bench/sent_header.h"
#include "webhooks/verification/testing.h"

ABSL_FLAG(std::string, url, "", "URL of the server: http://ADDRESS:PORT/PATH");
ABSL_FLAG(int, pid, 0, "process id of the server");
ABSL_FLAG(std::string, body, "", "file with an activity, the body of every delivery");
ABSL_FLAG(int, keys, 1, "number of activities to which the deliveries belong, in turn");
ABSL_FLAG(int, connections, 64, "number of connections; each sends one delivery at a time");
ABSL_FLAG(int, count, 10000, "measured deliveries");
ABSL_FLAG(int, warm_up, 500, "number of deliveries before the measurement");
ABSL_FLAG(int, rate, 0, "deliveries per second; 0: each connection sends the next delivery after a response");

namespace stampgate::bench {
namespace {

constexpr absl::Duration kHang = absl::Seconds(60);

// The bytes of a signed request. When the request is sent, only the digits of the sent time are changed.
struct Request {
  std::string bytes;
  size_t sent_at;  // the offset of these digits
};

// Makes signed requests, with event ids that no other run uses.
class RequestMaker {
 public:
  RequestMaker(absl::string_view path, KeyedBody body)
      : begin_(absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: bench\r\n")), body_(std::move(body)) {}

  size_t body_size() const { return body_.Of(0).size(); }

  Request Next() {
    const std::string body = body_.Of(number_);
    const Delivery delivery = sender_.Sign(absl::StrCat("bench-", run_, "-", number_++), body, absl::Now());
    std::string head = begin_;
    for (const HeaderField& header : delivery.headers) absl::StrAppend(&head, header.name, ": ", header.value, "\r\n");
    absl::StrAppend(&head, kSentHeader, ": ");
    const size_t sent_at = head.size();
    absl::StrAppend(&head, std::string(kSentDigits, '0'), "\r\nContent-Length: ", body.size(), "\r\n\r\n");
    return {absl::StrCat(head, body), sent_at};
  }

 private:
  const TestSender sender_;
  const std::string begin_;
  const KeyedBody body_;
  const int64_t run_ = absl::GetCurrentTimeNanos();
  int number_ = 0;
};

// A connection with at most one request in progress.
class Connection {
 public:
  // Connects to `address`. If this fails, the connection counts as broken.
  Connection(const sockaddr_in& address, int poll) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return;
    epoll_event wanted{EPOLLIN, {.ptr = this}};
    epoll_ctl(poll, EPOLL_CTL_ADD, socket_, &wanted);
  }
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  absl::Time sent() const { return sent_; }

  // Sends the request with the time `now`. Returns false if the connection is broken. Blocks if the request does not
  // fit into the socket's buffer.
  bool Send(Request& request, absl::Time now) {
    sent_ = now;
    const std::string digits = absl::StrFormat("%0*d", kSentDigits, absl::ToUnixNanos(now));
    request.bytes.replace(request.sent_at, kSentDigits, digits);
    return send(socket_, request.bytes.data(), request.bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(request.bytes.size());
  }

  // Returns the HTTP status of the response; nothing if it has not arrived completely; 0 if the peer has closed the
  // connection. Responses have no body.
  std::optional<int> Receive() {
    char buffer[4096];
    const ssize_t count = recv(socket_, buffer, sizeof(buffer), 0);
    if (count <= 0) return 0;
    answer_.append(buffer, count);
    if (!absl::EndsWith(answer_, "\r\n\r\n")) return std::nullopt;
    int status = 0;
    const std::vector<absl::string_view> words = absl::StrSplit(answer_, absl::MaxSplits(' ', 2));
    if (words.size() < 3 || !absl::SimpleAtoi(words[1], &status)) status = 0;
    answer_.clear();
    return status;
  }

 private:
  const int socket_;
  absl::Time sent_;
  std::string answer_;
};

class Deliverer {
 public:
  explicit Deliverer(const sockaddr_in& address) : poll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (int i = 0; i < absl::GetFlag(FLAGS_connections); ++i) {
      connections_.push_back(std::make_unique<Connection>(address, poll_));
      free_.push_back(connections_.back().get());
    }
  }

  bool Run(RequestMaker& maker) {
    const int warm_up = absl::GetFlag(FLAGS_warm_up);
    for (int i = 0; i < warm_up + absl::GetFlag(FLAGS_count); ++i) requests_.push_back(maker.Next());
    if (!Deliver(warm_up)) return false;
    latencies_.Clear();
    const std::optional<Instant> begin = Look(absl::GetFlag(FLAGS_pid));
    if (!begin.has_value() || !Deliver(requests_.size())) return false;
    const std::optional<Instant> end = Look(absl::GetFlag(FLAGS_pid));
    if (!end.has_value()) return false;
    Print(*begin, *end, maker.body_size());
    return true;
  }

 private:
  // Sends the requests that have not been sent, up to the index `end`, and waits for their responses.
  bool Deliver(size_t end) {
    const int rate = absl::GetFlag(FLAGS_rate);
    const absl::Duration pace = rate == 0 ? absl::ZeroDuration() : absl::Seconds(1) / rate;
    absl::Time due = absl::Now();
    while (next_ < end || free_.size() < connections_.size()) {
      for (; next_ < end && !free_.empty() && due <= absl::Now(); due += pace) {
        // At a fixed rate, the latency is measured from the time at which the delivery was due, even if no connection
        // was free then.
        if (!free_.back()->Send(requests_[next_++], rate == 0 ? absl::Now() : due)) return Fail("a connection broke");
        free_.pop_back();
      }
      const bool waits_for_time = next_ < end && !free_.empty();
      if (!AwaitAnswers(waits_for_time ? std::max(due - absl::Now(), absl::ZeroDuration()) : kHang)) return false;
    }
    return true;
  }

  // Waits at most `patience` for a response, and reads all responses that have arrived.
  bool AwaitAnswers(absl::Duration patience) {
    epoll_event events[64];
    const timespec wait = absl::ToTimespec(patience);
    const int count = epoll_pwait2(poll_, events, std::size(events), &wait, nullptr);
    if (count == 0 && patience == kHang) return Fail("no response has arrived");
    for (int i = 0; i < count; ++i) {
      auto* connection = static_cast<Connection*>(events[i].data.ptr);
      const std::optional<int> status = connection->Receive();
      if (!status.has_value()) continue;
      if (*status != 200) return Fail(*status == 0 ? "a connection was closed" : absl::StrCat("HTTP ", *status));
      latencies_.Add(absl::Now() - connection->sent());
      free_.push_back(connection);
    }
    return true;
  }

  static bool Fail(const std::string& why) {
    std::fprintf(stderr, "deliver: %s\n", why.c_str());
    return false;
  }

  void Print(const Instant& begin, const Instant& end, size_t body_size) {
    latencies_.Print(end.cpu - begin.cpu, end.time - begin.time);
    std::printf(" body_bytes=%zu\n", body_size);
  }

  const int poll_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> free_;
  std::vector<Request> requests_;
  size_t next_ = 0;
  Latencies latencies_;
};

int Main() {
  const std::string url = absl::GetFlag(FLAGS_url);
  const std::vector<std::string> parts =
      absl::StrSplit(url, absl::MaxSplits('/', 3));  // "http:", "", "host:port", "path"
  const std::pair<std::string, std::string> host = absl::StrSplit(parts.size() == 4 ? parts[2] : "", ':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  int port = 0;
  if (!absl::SimpleAtoi(host.second, &port) || inet_pton(AF_INET, host.first.c_str(), &address.sin_addr) != 1) {
    std::fprintf(stderr, "deliver: --url is not http://ADDRESS:PORT/PATH\n");
    return 1;
  }
  address.sin_port = htons(static_cast<uint16_t>(port));
  RequestMaker maker(absl::StrCat("/", parts[3]),
                     KeyedBody(ReadFile(absl::GetFlag(FLAGS_body)), absl::GetFlag(FLAGS_keys)));
  return Deliverer(address).Run(maker) ? 0 : 1;
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stampgate::bench::Main();
}
