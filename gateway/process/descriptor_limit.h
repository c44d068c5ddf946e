// The limit of the file descriptors that this process can open, how many the gateway can need, and how its ports share
// them.
#ifndef STAMPGATE_GATEWAY_PROCESS_DESCRIPTOR_LIMIT_H_
#define STAMPGATE_GATEWAY_PROCESS_DESCRIPTOR_LIMIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "stampgate/config/v1/config.pb.h"

namespace stampgate {

// Raises the soft limit to the hard limit. The soft limit is often 1,024, which is less than the connections that the
// gateway accepts. Errors: the system's error, as absl::ErrnoToStatus maps it; the limit is then unchanged.
absl::Status RaiseDescriptorLimit();

// The descriptors that the gateway can need at the same time.
struct DescriptorNeed {
  int64_t callers = 0;   // connections of the gRPC port
  int64_t webhooks = 0;  // connections of the webhook port
  int64_t upstream = 0;  // connections to upstream
  int64_t others = 0;    // files, the store, the admin port, the event loops, and what a reload opens

  int64_t total() const { return callers + webhooks + upstream + others; }
};

// Requires that all defaults of `config` are set.
DescriptorNeed NeedOf(const config::v1::Config& config);

// How many connections the ports admit, so that all parts of the gateway together stay within the limit of this
// process. If the limit is lower than the need, these are fewer than in the config: reloads, the store and upstream get
// what they need first, but at most half of the limit. Of the rest, deliveries get a quarter, or what callers leave.
struct ConnectionBounds {
  // Requires that all defaults of `config` are set.
  explicit ConnectionBounds(const config::v1::Config& config);

  size_t callers;     // connections of the gRPC port, without those in TLS handshakes
  size_t handshakes;  // TLS handshakes of the gRPC port
  int webhooks;       // connections of the webhook port
  // Each port closes a connection whose descriptor has this number or a higher one. The system uses the lowest free
  // numbers, so a flood of connections, also of those that have begun to end, never takes the descriptors that a reload
  // needs.
  int max_descriptor;
};

// Returns the warning that the limit of this process is lower than the gateway can need with `config`, what the gateway
// does then, and what the operator can do; nothing if the limit is high enough. Requires that all defaults are set.
std::optional<std::string> DescriptorWarning(const config::v1::Config& config);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_DESCRIPTOR_LIMIT_H_
