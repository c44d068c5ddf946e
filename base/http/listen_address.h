// Parses the address on which a server listens.
#ifndef STAMPGATE_BASE_HTTP_LISTEN_ADDRESS_H_
#define STAMPGATE_BASE_HTTP_LISTEN_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

struct ListenAddress {
  std::string ip;     // in a form that inet_pton() accepts, without brackets
  uint16_t port = 0;  // 0: the system chooses a port
};

// Returns whether `ip` is 127.x.x.x or ::1, in any spelling that inet_pton() accepts, without brackets.
bool IsLoopbackIp(const std::string& ip);

// Parses "127.0.0.1:8080", "[::1]:8080" or "localhost:8080". "localhost" means 127.0.0.1. Refuses other names, because
// the address of a server must not depend on a resolver. Errors: kInvalidArgument.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_HTTP_LISTEN_ADDRESS_H_
