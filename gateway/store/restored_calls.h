// Prepares a call store that was restored from a copy.
#ifndef STAMPGATE_GATEWAY_STORE_RESTORED_CALLS_H_
#define STAMPGATE_GATEWAY_STORE_RESTORED_CALLS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stampgate {

// Call this after a copy was restored at `path`, since the copy lacks what was stored after it was made. For as long as
// keys are kept, the store then refuses keys that it does not have, and begins no attempt for those that it has.
// Timestamps begin above every earlier one. Also repairs a store that does not open because one of its marks is
// damaged.
//
// Durable when it returns OK. Errors: kNotFound if there is no file; those of OpenSqliteCallStore, such as
// kFailedPrecondition while a process has the store open.
absl::Status MarkCallsAsRestored(const std::string& path, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_RESTORED_CALLS_H_
