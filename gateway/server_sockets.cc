#include "gateway/server_sockets.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace stampgate {
namespace {

std::vector<int> OpenDescriptors() {
  std::vector<int> descriptors;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return descriptors;
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] == '.') continue;
    const int fd = atoi(entry->d_name);
    if (fd != dirfd(folder.get())) descriptors.push_back(fd);
  }
  return descriptors;
}

int Option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

bool IsTcp(int fd) {
  const int domain = Option(fd, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6) && Option(fd, SO_TYPE) == SOCK_STREAM;
}

// IPv4 as IPv6 has it: gRPC listens to both with one socket.
struct Address {
  in6_addr ip = {};
  int port = 0;

  bool is_any() const {
    const in6_addr any_v4 = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}}};
    return IN6_IS_ADDR_UNSPECIFIED(&ip) || memcmp(&ip, &any_v4, sizeof(ip)) == 0;
  }
};

Address AddressOf(const sockaddr_storage& socket) {
  Address address;
  if (socket.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(socket);
    address.ip = v6.sin6_addr;
    address.port = ntohs(v6.sin6_port);
  } else if (socket.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(socket);
    address.ip.s6_addr[10] = address.ip.s6_addr[11] = 0xff;
    memcpy(&address.ip.s6_addr[12], &v4.sin_addr, sizeof(v4.sin_addr));
    address.port = ntohs(v4.sin_port);
  }
  return address;
}

bool GetName(int fd, int (*get)(int, sockaddr*, socklen_t*), sockaddr_storage& name) {
  socklen_t size = sizeof(name);
  return get(fd, reinterpret_cast<sockaddr*>(&name), &size) == 0;
}

}  // namespace

std::set<int> ListeningSockets() {
  std::set<int> listening;
  for (const int fd : OpenDescriptors()) {
    if (IsTcp(fd) && Option(fd, SO_ACCEPTCONN) == 1) listening.insert(fd);
  }
  return listening;
}

ServerSockets::ServerSockets(const std::set<int>& listeners) : listeners_(listeners) {
  for (const int fd : listeners_) {
    sockaddr_storage local = {};
    if (GetName(fd, getsockname, local)) addresses_.push_back(local);
  }
}

ServerSockets::~ServerSockets() {
  for (const auto& [id, fd] : closed_) close(fd);
}

void ServerSockets::StopListening() {
  for (const int fd : listeners_) shutdown(fd, SHUT_RDWR);
}

bool ServerSockets::HaveConnections() const {
  bool found = false;
  ForEachConnection([&found](int fd, ino_t /*id*/, int /*remote_port*/) {
    found = true;
    close(fd);
  });
  return found;
}

void ServerSockets::CloseConnections(const std::function<bool(int remote_port)>& keep) {
  ForEachConnection([this, &keep](int fd, ino_t id, int remote_port) {
    if (keep(remote_port)) {
      close(fd);
      return;
    }
    shutdown(fd, SHUT_WR);
    closed_[id] = fd;
  });
}

void ServerSockets::WaitForPeers(std::chrono::steady_clock::time_point deadline) {
  std::vector<pollfd> open;
  for (const auto& [id, fd] : closed_) open.push_back({.fd = fd, .events = POLLRDHUP, .revents = 0});
  while (!open.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    if (poll(open.data(), open.size(), static_cast<int>(std::min<int64_t>(left.count(), 1000))) < 0) return;
    std::erase_if(open, [](const pollfd& peer) { return peer.revents != 0; });
  }
}

void ServerSockets::ForEachConnection(const std::function<void(int fd, ino_t id, int remote_port)>& visit) const {
  for (const int number : OpenDescriptors()) {
    // gRPC may close it at any moment, and the number may then be another file's: what is looked at is a descriptor of
    // our own.
    const int fd = fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) continue;
    sockaddr_storage local = {};
    sockaddr_storage remote = {};
    struct stat file = {};
    if (IsTcp(fd) && GetName(fd, getsockname, local) && GetName(fd, getpeername, remote) && IsOurs(local) &&
        fstat(fd, &file) == 0 && !closed_.contains(file.st_ino)) {
      visit(fd, file.st_ino, AddressOf(remote).port);
    } else {
      close(fd);
    }
  }
}

bool ServerSockets::IsOurs(const sockaddr_storage& local) const {
  const Address address = AddressOf(local);
  return std::any_of(addresses_.begin(), addresses_.end(), [&address](const sockaddr_storage& listening) {
    const Address ours = AddressOf(listening);
    return ours.port == address.port && (ours.is_any() || memcmp(&ours.ip, &address.ip, sizeof(ours.ip)) == 0);
  });
}

}  // namespace stampgate
