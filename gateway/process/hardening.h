// Hardens the process, so that others cannot read its memory and files.
#ifndef STAMPGATE_GATEWAY_PROCESS_HARDENING_H_
#define STAMPGATE_GATEWAY_PROCESS_HARDENING_H_

#include "absl/status/status.h"

namespace stampgate {

// After this, no core dump is written even if the limit is raised, no process of the same user can read this one, child
// processes cannot gain privileges, and only the owner can use files that the process creates. Call it before any
// secret is read. Errors: kInternal, with the system's error.
absl::Status HardenProcess();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_HARDENING_H_
