// A call store that was put back from a copy.
#ifndef STAMPGATE_GATEWAY_STORE_RESTORED_CALLS_H_
#define STAMPGATE_GATEWAY_STORE_RESTORED_CALLS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stampgate {

// After a copy was put back at `path`: what was stored since the copy was made is not in it. For as long as keys are
// kept, keys that the store does not know are refused, and for those that it knows no attempt begins. Timestamps begin
// above every earlier one. Does the same for a store that does not open because one of its marks is damaged.
//
// Durable when it returns OK. Errors: kNotFound if there is no file; those of OpenSqliteCallStore, such as
// kFailedPrecondition while a process has the store open.
absl::Status MarkCallsAsRestored(const std::string& path, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_RESTORED_CALLS_H_
