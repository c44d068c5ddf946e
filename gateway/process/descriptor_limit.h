// The limit of the file descriptors that this process can open, and how many the gateway can need.
#ifndef STAMPGATE_GATEWAY_PROCESS_DESCRIPTOR_LIMIT_H_
#define STAMPGATE_GATEWAY_PROCESS_DESCRIPTOR_LIMIT_H_

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

// Returns the warning that the limit is lower than `need`, and what the operator can do; nothing if it is high enough.
std::optional<std::string> DescriptorWarning(const DescriptorNeed& need);

// The descriptors that each port leaves to the rest of the gateway: the port closes a connection whose descriptor has
// this number or a higher one. The system uses the lowest free numbers, so a flood of connections never takes the
// descriptors of the parts that matter more: reloads and the store, then upstream, then deliveries, then callers.
struct DescriptorBounds {
  explicit DescriptorBounds(const DescriptorNeed& need);

  int callers;
  int webhooks;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_DESCRIPTOR_LIMIT_H_
