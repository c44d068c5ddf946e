#include "base/http/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace stampgate {
namespace {

bool IsAddress(int family, const std::string& text) {
  std::array<char, sizeof(in6_addr)> address;
  return inet_pton(family, text.c_str(), address.data()) == 1;
}

}  // namespace

bool IsLoopbackIp(const std::string& ip) {
  in_addr v4;
  in6_addr v6;
  if (inet_pton(AF_INET, ip.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return inet_pton(AF_INET6, ip.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return absl::InvalidArgumentError("listen address must be host:port");
  absl::string_view host = text.substr(0, colon);
  const absl::string_view digits = text.substr(colon + 1);

  int port;
  if (digits.empty() || digits.size() > 5 || !std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(digits, &port) || port > 65535) {
    return absl::InvalidArgumentError("the port of a listen address must be a number from 0 to 65535");
  }

  ListenAddress address;
  address.port = static_cast<uint16_t>(port);
  if (absl::ConsumePrefix(&host, "[")) {
    if (!absl::ConsumeSuffix(&host, "]") || !IsAddress(AF_INET6, std::string(host))) {
      return absl::InvalidArgumentError("a listen address in brackets must be an IPv6 address");
    }
    address.ip = std::string(host);
  } else if (host == "localhost") {
    address.ip = "127.0.0.1";
  } else if (IsAddress(AF_INET, std::string(host))) {
    address.ip = std::string(host);
  } else {
    return absl::InvalidArgumentError(
        "the host of a listen address must be an IPv4 address, an IPv6 address in brackets, or localhost");
  }
  return address;
}

}  // namespace stampgate
