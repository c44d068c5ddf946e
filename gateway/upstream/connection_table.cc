#include "gateway/upstream/connection_table.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

std::string Address(absl::string_view ip, int port) { return absl::StrCat(ip, " ", port); }

int LocalPort(int descriptor) {
  sockaddr_storage address = {};
  socklen_t length = sizeof(address);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) return -1;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

}  // namespace

void ConnectionTable::Add(absl::string_view local_ip, int local_port, const std::vector<int>& candidates) {
  for (const int descriptor : candidates) {
    if (LocalPort(descriptor) != local_port) continue;
    std::string& address = addresses_[descriptor];
    const auto earlier = descriptors_.find(address);
    if (earlier != descriptors_.end() && earlier->second == descriptor) descriptors_.erase(earlier);
    address = Address(local_ip, local_port);
    descriptors_[address] = descriptor;
  }
}

bool ConnectionTable::IsQuiet(absl::string_view local_ip, int local_port) const {
  const auto found = descriptors_.find(Address(local_ip, local_port));
  if (found == descriptors_.end()) return false;
  char byte;
  return recv(found->second, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace stampgate
