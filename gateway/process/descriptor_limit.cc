#include "gateway/process/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

// Without connections, a gateway with 2 loops and a store in SQLite files uses 45. Each further loop, of 16 at most,
// uses 3, and a store on PostgreSQL a few more. The rest is for reloads.
constexpr int64_t kOthers = 128;

// The connections for key sets.
constexpr int64_t kKeySetConnections = 2;

// Returns the soft limit; a very high one if the system states none.
int64_t Limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > rlim_t{std::numeric_limits<int>::max()}) {
    return std::numeric_limits<int>::max();
  }
  return static_cast<int64_t>(limit.rlim_cur);
}

}  // namespace

absl::Status RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return absl::ErrnoToStatus(errno, "the descriptor limit cannot be read");
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return absl::ErrnoToStatus(errno, "the descriptor limit cannot be raised to the hard limit");
  }
  return absl::OkStatus();
}

DescriptorNeed NeedOf(const config::v1::Config& config) {
  const int64_t handshakes = config.has_tls() ? config.connections().max_handshakes() : 0;
  // Submits and queries have their own connections.
  const int64_t upstream = 2 * int64_t{config.upstream().max_connections()} + kKeySetConnections;
  return {.callers = config.connections().max() + handshakes,
          .webhooks = config.webhooks().listen_address().empty() ? 0 : config.webhooks().max_connections(),
          .upstream = upstream,
          .others = kOthers};
}

ConnectionBounds::ConnectionBounds(const config::v1::Config& config)
    : callers(config.connections().max()),
      handshakes(config.connections().max_handshakes()),
      webhooks(static_cast<int>(config.webhooks().max_connections())) {
  const DescriptorNeed need = NeedOf(config);
  const int64_t limit = Limit();
  max_descriptor = static_cast<int>(limit - std::min(need.others / 2, limit / 4));
  if (need.total() <= limit) return;
  const int64_t for_ports = limit - std::min(need.upstream + need.others, limit / 2);
  const int64_t for_webhooks = std::min(need.webhooks, std::max(for_ports / 4, for_ports - need.callers));
  if (need.webhooks > 0) webhooks = static_cast<int>(for_webhooks);
  const int64_t for_callers = for_ports - for_webhooks;
  if (for_callers >= need.callers) return;
  const int64_t for_handshakes = std::min(need.callers - config.connections().max(), for_callers / 2);
  if (for_handshakes > 0) handshakes = static_cast<size_t>(for_handshakes);
  callers = std::min(callers, static_cast<size_t>(for_callers - for_handshakes));
}

std::optional<std::string> DescriptorWarning(const config::v1::Config& config) {
  const DescriptorNeed need = NeedOf(config);
  const int64_t limit = Limit();
  if (need.total() <= limit) return std::nullopt;
  const ConnectionBounds bounds(config);
  const std::string of_webhooks = need.webhooks == 0 ? "" : absl::StrCat(" and ", bounds.webhooks, " for deliveries");
  return absl::StrCat("connections.max: the gateway can need ", need.total(), " file descriptors (", need.callers,
                      " for callers, ", need.webhooks, " for deliveries, ", need.upstream, " for upstream, ",
                      need.others, " for the rest), but the limit of this process is ", limit,
                      ": the gateway admits at most ", bounds.callers, " connections of callers", of_webhooks,
                      "; raise the limit (ulimit -Hn), or lower connections.max and webhooks.max_connections");
}

}  // namespace stampgate
