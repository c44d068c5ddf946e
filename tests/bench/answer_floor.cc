// A server on one thread that reads requests and responds with 200, without other work. Its CPU for a request is the
// HTTP part of the minimum cost of a webhook delivery. It understands only requests of deliver.cc.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>

#include "absl/flags/parse.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace stampgate::bench {
namespace {

constexpr char kAnswer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n";
constexpr char kLength[] = "Content-Length: ";

// Returns true if `request` is a complete request.
bool IsComplete(absl::string_view request) {
  const size_t end = request.find("\r\n\r\n");
  if (end == absl::string_view::npos) return false;
  const absl::string_view head = request.substr(0, end);
  const size_t field = head.rfind(kLength);
  size_t length = 0;
  return field != absl::string_view::npos && absl::SimpleAtoi(head.substr(field + sizeof(kLength) - 1), &length) &&
         request.size() >= end + 4 + length;
}

// Reads what the connection has received, and responds to a complete request. Returns false if the peer has closed the
// connection.
bool Advance(int connection, std::string& request) {
  char buffer[16384];
  const ssize_t count = recv(connection, buffer, sizeof(buffer), 0);
  if (count <= 0) return false;
  request.append(buffer, count);
  if (!IsComplete(request)) return true;
  request.clear();
  return send(connection, kAnswer, sizeof(kAnswer) - 1, MSG_NOSIGNAL) > 0;
}

int Main() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  epoll_event wanted{EPOLLIN, {.fd = listener}};
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, 1024) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      epoll_ctl(poll, EPOLL_CTL_ADD, listener, &wanted) != 0) {
    std::fprintf(stderr, "answer_floor: cannot listen\n");
    return 1;
  }
  std::printf("listening on http://127.0.0.1:%d\n", ntohs(address.sin_port));
  std::fflush(stdout);

  std::map<int, std::string> requests;  // the received bytes of each connection
  for (;;) {
    epoll_event events[256];
    const int count = epoll_wait(poll, events, 256, -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[i].data.fd;
      if (descriptor != listener) {
        if (!Advance(descriptor, requests[descriptor])) {
          requests.erase(descriptor);
          close(descriptor);
        }
        continue;
      }
      const int accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (accepted < 0) continue;
      const int on = 1;
      setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      wanted = {EPOLLIN, {.fd = accepted}};
      epoll_ctl(poll, EPOLL_CTL_ADD, accepted, &wanted);
    }
  }
}

}  // namespace
}  // namespace stampgate::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return stampgate::bench::Main();
}
