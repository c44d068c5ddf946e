// Raises the limit of the file descriptors that this process can open.
#ifndef STAMPGATE_GATEWAY_PROCESS_DESCRIPTOR_LIMIT_H_
#define STAMPGATE_GATEWAY_PROCESS_DESCRIPTOR_LIMIT_H_

#include "absl/status/status.h"

namespace stampgate {

// Raises the soft limit to the hard limit. The soft limit is often 1,024, which is less than the connections that the
// gateway accepts. Errors: the system's error, as absl::ErrnoToStatus maps it; the limit is then unchanged.
absl::Status RaiseDescriptorLimit();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_DESCRIPTOR_LIMIT_H_
