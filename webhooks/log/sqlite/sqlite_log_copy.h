// An event log in a SQLite file, as the source or the target of a copy.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_SQLITE_LOG_COPY_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_SQLITE_LOG_COPY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/log_copy.h"

namespace stampgate {

// Opens the log in the file `path`, as the start of a gateway does, but without retention. Errors: kFailedPrecondition
// if the file is not an event log, or if a gateway has it open; kDataLoss if a shared subscription is damaged; those of
// RecoverLog. LogSource::IdsAfter returns kFailedPrecondition for an id of an old version, which has no scope.
absl::StatusOr<std::unique_ptr<LogSource>> OpenSqliteLogSource(const std::string& path, absl::Time now);

// Creates the file `path` for the log with this identity. Until OpenCopiedLog, no gateway can open it. Errors:
// kFailedPrecondition if there is a file, or a copy to it has not ended; kUnavailable if it cannot be created.
absl::StatusOr<std::unique_ptr<LogTarget>> CreateSqliteLogTarget(const std::string& path, const LogIdentity& log);

// Lets gateways open the copied log. Call it after LogTarget::Finish. Errors: those of EndCopy.
absl::Status OpenCopiedLog(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_SQLITE_LOG_COPY_H_
