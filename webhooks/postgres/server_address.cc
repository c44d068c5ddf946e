#include "webhooks/postgres/server_address.h"

#include "absl/strings/numbers.h"

namespace stampgate {

absl::StatusOr<std::pair<std::string, std::string>> SplitHostAndPort(const std::string& host) {
  const size_t colon = host.rfind(':');
  uint32_t port = 0;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(host.substr(colon + 1), &port) || port == 0 ||
      port > 65535) {
    return absl::InvalidArgumentError("must be host:port");
  }
  std::string name = host.substr(0, colon);
  if (name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  } else if (name.find(':') != std::string::npos) {
    return absl::InvalidArgumentError("must have an IPv6 address in brackets");
  }
  if (name.empty() || name.find_first_of(", '\\") != std::string::npos) {
    return absl::InvalidArgumentError("must be host:port");
  }
  return std::pair(name, host.substr(colon + 1));
}

}  // namespace stampgate
