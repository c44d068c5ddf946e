#include "base/http/test_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

constexpr int kHangSeconds = 60;

int Connect(const std::string& url, int receive_buffer) {
  const size_t host = url.find("://") + 3;
  const size_t colon = url.rfind(':');
  int port = 0;
  if (!absl::SimpleAtoi(url.substr(colon + 1), &port)) return -1;

  sockaddr_storage storage = {};
  socklen_t size = 0;
  if (url[host] == '[') {
    auto& address = reinterpret_cast<sockaddr_in6&>(storage);
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET6, url.substr(host + 1, colon - host - 2).c_str(), &address.sin6_addr);
    size = sizeof(address);
  } else {
    auto& address = reinterpret_cast<sockaddr_in&>(storage);
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, url.substr(host, colon - host).c_str(), &address.sin_addr);
    size = sizeof(address);
  }
  const int descriptor = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // Must be set before connect, which sends the buffer's size to the peer.
  if (receive_buffer > 0) setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
  if (descriptor >= 0 && connect(descriptor, reinterpret_cast<sockaddr*>(&storage), size) != 0) return -1;
  return descriptor;
}

}  // namespace

HttpTestClient::HttpTestClient(const std::string& url, int receive_buffer) : socket_(Connect(url, receive_buffer)) {
  if (socket_ < 0) {
    ADD_FAILURE() << "cannot connect to " << url << ": errno " << errno;
    std::abort();
  }
  const timeval hang = {.tv_sec = kHangSeconds, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &hang, sizeof(hang));
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &hang, sizeof(hang));
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  const linger reset = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

HttpTestClient::~HttpTestClient() { close(socket_); }

bool HttpTestClient::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) {
      if (errno == EAGAIN) ADD_FAILURE() << "the peer neither reads nor closes";
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void HttpTestClient::EndSending() { shutdown(socket_, SHUT_WR); }

std::string HttpTestClient::ReadAnswer() {
  while (true) {
    const size_t end = unread_.find("\r\n\r\n");
    if (end != std::string::npos) {
      std::string answer = unread_.substr(0, end + 4);
      unread_.erase(0, end + 4);
      return answer;
    }
    if (!ReadMore()) return "";
  }
}

std::string HttpTestClient::ReadToEnd() {
  while (ReadMore()) {
  }
  return std::exchange(unread_, "");
}

bool HttpTestClient::ReadMore() {
  std::array<char, 4096> bytes;
  const ssize_t count = recv(socket_, bytes.data(), bytes.size(), 0);
  if (count > 0) {
    unread_.append(bytes.data(), static_cast<size_t>(count));
    return true;
  }
  if (count < 0 && errno == EAGAIN) ADD_FAILURE() << "the peer neither writes nor closes";
  return false;
}

std::string Statuses(absl::string_view answers) {
  std::string statuses;
  while (!answers.empty()) {
    const size_t end = answers.find("\r\n\r\n");
    if (end == absl::string_view::npos || !absl::StartsWith(answers, "HTTP/1.1 ")) return "not a response";
    const absl::string_view answer = answers.substr(0, end + 2);
    answers.remove_prefix(end + 4);
    if (!statuses.empty()) statuses += ' ';
    absl::StrAppend(&statuses, answer.substr(9, 3));
    if (answer.substr(9, 3) == "100") continue;
    if (!absl::StrContains(answer, "\r\nContent-Length: 0\r\n")) return "a response with a body";
    if (absl::StrContains(answer, "\r\nConnection: close\r\n")) statuses += '.';
  }
  return statuses;
}

}  // namespace stampgate
