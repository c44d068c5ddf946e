// A call store in a SQLite file, as the source or the target of a copy.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_SQLITE_CALL_COPY_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_SQLITE_CALL_COPY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/store/call_copy.h"

namespace stampgate {

// Opens the store in the file `path` as the start of a gateway does: if the disk has lost keys, the store records this.
// Errors: kFailedPrecondition if the file is not a call store, or if a gateway has it open; those of CallWriter::Open.
absl::StatusOr<std::unique_ptr<CallSource>> OpenSqliteCallSource(const std::string& path, absl::Time now);

// Creates the file `path`. Until OpenCopiedCalls, no gateway can open it. Errors: kFailedPrecondition if there is a
// file, or a copy to it has not ended; kUnavailable if it cannot be created.
absl::StatusOr<std::unique_ptr<CallTarget>> CreateSqliteCallTarget(const std::string& path, absl::Time now);

// Lets gateways open the copied store. Call it after CallTarget::Finish. Errors: those of EndCopy.
absl::Status OpenCopiedCalls(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_SQLITE_CALL_COPY_H_
