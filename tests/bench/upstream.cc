// A fast replacement of upstream for load tests: an HTTP/1.1 server with keep-alive and TLS, on one thread. It responds
// to every POST immediately. The response is the content of --query for paths that contain /query/, otherwise that of
// --submit. It understands only requests that libcurl sends. Unlike the simulator, it does not check requests.
//
// It stores the first request to each path in the folder --capture: the request head as LAST_SEGMENT.head, the body as
// LAST_SEGMENT.body. With these files, curl_floor sends exactly the bytes that the gateway sends.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tests/bench/read_file.h"

ABSL_FLAG(std::string, certificate, "", "PEM file");
ABSL_FLAG(std::string, key, "", "PEM file");
ABSL_FLAG(std::string, query, "", "file with the response to queries");
ABSL_FLAG(std::string, submit, "", "file with the response to all other requests");
ABSL_FLAG(std::string, capture, "", "folder in which the first request to each path is stored");

namespace stampgate::bench {
namespace {

std::string AnswerOf(const std::string& path) {
  const std::string body = ReadFile(path);
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Sat, 21 Nov 2026 08:25:09 GMT\r\n",
                      "Content-Length: ", body.size(), "\r\n\r\n", body);
}

// Stores the first request to each path.
class Capture {
 public:
  explicit Capture(std::string folder) : folder_(std::move(folder)) {}

  void Look(absl::string_view path, absl::string_view head, absl::string_view body) {
    if (folder_.empty() || !seen_.emplace(path).second) return;
    const std::string file = absl::StrCat(folder_, path.substr(path.rfind('/')));
    std::ofstream(file + ".head", std::ios::binary) << std::string(head);
    std::ofstream(file + ".body", std::ios::binary) << std::string(body);
  }

 private:
  const std::string folder_;
  std::set<std::string, std::less<>> seen_;
};

struct Answers {
  std::string query;
  std::string submit;
};

class Connection {
 public:
  Connection(SSL* ssl, const Answers& answers, Capture& capture) : ssl_(ssl), answers_(answers), capture_(capture) {}
  ~Connection() { SSL_free(ssl_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Reads and answers requests as far as possible without waiting. Returns false if the connection has ended. A
  // response always fits into the socket's buffer, because libcurl sends a request only after it has read the previous
  // response.
  bool Advance() {
    char buffer[16384];
    for (;;) {
      const int count = SSL_read(ssl_, buffer, sizeof(buffer));
      if (count <= 0) {
        const bool later = SSL_get_error(ssl_, count) == SSL_ERROR_WANT_READ;
        ERR_clear_error();
        return later;
      }
      in_.append(buffer, count);
      if (!AnswerAll()) return false;
    }
  }

 private:
  bool AnswerAll() {
    for (;;) {
      const size_t end = in_.find("\r\n\r\n");
      if (end == std::string::npos) return true;
      const absl::string_view head = absl::string_view(in_).substr(0, end + 4);
      const size_t size = head.size() + ContentLength(head);
      if (in_.size() < size) return true;
      const absl::string_view path = head.substr(5, head.find(' ', 5) - 5);  // the text after "POST "
      capture_.Look(path, head, absl::string_view(in_).substr(head.size(), size - head.size()));
      const std::string& answer = absl::StrContains(path, "/query/") ? answers_.query : answers_.submit;
      in_.erase(0, size);
      if (SSL_write(ssl_, answer.data(), static_cast<int>(answer.size())) <= 0) return false;
    }
  }

  static size_t ContentLength(absl::string_view head) {
    for (absl::string_view line : absl::StrSplit(head, "\r\n")) {
      size_t length = 0;
      if (absl::StartsWithIgnoreCase(line, "content-length:") && absl::SimpleAtoi(line.substr(15), &length)) {
        return length;
      }
    }
    return 0;
  }

  SSL* const ssl_;
  const Answers& answers_;
  Capture& capture_;
  std::string in_;
};

int Fail(const char* what) {
  std::fprintf(stderr, "upstream: %s\n", what);
  return 1;
}

// Returns a listening socket, and sets `port` to its port, which the system chooses.
int Listen(int& port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (listener < 0 || bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, 1024) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return -1;
  }
  port = ntohs(address.sin_port);
  return listener;
}

int Main() {
  signal(SIGPIPE, SIG_IGN);
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr ||
      SSL_CTX_use_certificate_chain_file(context, absl::GetFlag(FLAGS_certificate).c_str()) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, absl::GetFlag(FLAGS_key).c_str(), SSL_FILETYPE_PEM) != 1) {
    return Fail("--certificate and --key cannot be used");
  }
  const Answers answers{AnswerOf(absl::GetFlag(FLAGS_query)), AnswerOf(absl::GetFlag(FLAGS_submit))};
  Capture capture(absl::GetFlag(FLAGS_capture));
  int port = 0;
  const int listener = Listen(port);
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{EPOLLIN, {.fd = listener}};
  if (listener < 0 || poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, listener, &wanted) != 0) return Fail("cannot listen");
  std::printf("listening on https://127.0.0.1:%d\n", port);
  std::fflush(stdout);

  absl::flat_hash_map<int, std::unique_ptr<Connection>> connections;
  for (;;) {
    epoll_event events[256];
    const int count = epoll_wait(poll, events, 256, -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[i].data.fd;
      if (descriptor != listener) {
        if (!connections[descriptor]->Advance()) {
          connections.erase(descriptor);
          close(descriptor);
        }
        continue;
      }
      const int accepted = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (accepted < 0) continue;
      const int on = 1;
      setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      SSL* const ssl = SSL_new(context);
      SSL_set_fd(ssl, accepted);
      SSL_set_accept_state(ssl);
      connections[accepted] = std::make_unique<Connection>(ssl, answers, capture);
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
