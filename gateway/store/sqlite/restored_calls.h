// Marks a call store as restored from a copy, so that the gateway does not trust it to be complete.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_RESTORED_CALLS_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_RESTORED_CALLS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace stampgate {

// Call this function after a copy of the store was restored at `path`, because the copy lacks everything that was
// stored after the copy was made. For the retention time after this call, the store refuses keys that it does not have,
// and begins no attempt for keys that it has. New timestamps are above all earlier timestamps. This function also
// repairs a store that cannot be opened because one of its marks is damaged.
//
// If this returns OK, the change is on the disk. Errors: kNotFound if there is no file at `path`, and those of
// OpenSqliteCallStore, such as kFailedPrecondition while a process has the store open.
absl::Status MarkCallsAsRestored(const std::string& path, absl::Time now);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_RESTORED_CALLS_H_
