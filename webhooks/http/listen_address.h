// Where a server listens, as a config spells it.
#ifndef STAMPGATE_WEBHOOKS_HTTP_LISTEN_ADDRESS_H_
#define STAMPGATE_WEBHOOKS_HTTP_LISTEN_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

struct ListenAddress {
  std::string ip;     // as inet_pton() takes it, without brackets
  uint16_t port = 0;  // 0: the system chooses one
};

// 127.x.x.x or ::1, in any spelling that inet_pton() takes. `ip` is without brackets.
bool IsLoopbackIp(const std::string& ip);

// Reads "127.0.0.1:8080", "[::1]:8080" or "localhost:8080". No other name: where a server listens must not depend on a
// resolver; "localhost" is 127.0.0.1. Errors: kInvalidArgument.
absl::StatusOr<ListenAddress> ParseListenAddress(absl::string_view text);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_HTTP_LISTEN_ADDRESS_H_
