// Hardens the process, so that other processes and users cannot read its memory and files.
#ifndef STAMPGATE_GATEWAY_PROCESS_HARDENING_H_
#define STAMPGATE_GATEWAY_PROCESS_HARDENING_H_

#include "absl/status/status.h"

namespace stampgate {

// After this call, the system writes no core dump of the process, even if the limit of the size of core dumps is
// raised. Other processes of the same user cannot read the memory of this process. Child processes cannot gain
// privileges. Only the owner can use files that the process creates. Must be called before the process reads a secret.
// Errors: the system's error, as absl::ErrnoToStatus maps it.
absl::Status HardenProcess();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_HARDENING_H_
