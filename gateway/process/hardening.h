// What the process gives up, so that its memory stays its own.
#ifndef STAMPGATE_GATEWAY_PROCESS_HARDENING_H_
#define STAMPGATE_GATEWAY_PROCESS_HARDENING_H_

#include "absl/status/status.h"

namespace stampgate {

// No core dump is written whatever limit is set later, no process of the same user may look into this one, nothing that
// it starts can have more rights, and files that it makes are its owner's alone. Call before a secret is read. Errors:
// kInternal, with what the system says.
absl::Status HardenProcess();

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_HARDENING_H_
