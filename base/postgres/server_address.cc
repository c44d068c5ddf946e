#include "base/postgres/server_address.h"

#include <cstdint>

#include "absl/strings/numbers.h"

namespace stampgate {

absl::StatusOr<std::pair<std::string, std::string>> SplitHostAndPort(const std::string& host) {
  const size_t colon = host.rfind(':');
  uint32_t port = 0;
  // SimpleAtoi also accepts signs and spaces.
  if (colon == std::string::npos || colon == 0 ||
      host.find_first_not_of("0123456789", colon + 1) != std::string::npos ||
      !absl::SimpleAtoi(host.substr(colon + 1), &port) || port == 0 || port > 65535) {
    return absl::InvalidArgumentError("must be host:port");
  }
  std::string name = host.substr(0, colon);
  if (name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  } else if (name.find(':') != std::string::npos) {
    return absl::InvalidArgumentError("must have an IPv6 address in brackets");
  }
  // For libpq, "," separates hosts, and "@" begins the name of a Unix socket.
  if (name.empty() || name.front() == '@' || name.find_first_of(", '\\") != std::string::npos) {
    return absl::InvalidArgumentError("must be host:port");
  }
  return std::pair(name, host.substr(colon + 1));
}

void PostgresAddress::SeeTimeline(int64_t seen) const {
  int64_t before = *timeline;
  while (before < seen && !timeline->compare_exchange_weak(before, seen)) {
  }
}

}  // namespace stampgate
