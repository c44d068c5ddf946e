// An event log that was put back from a copy.
#ifndef STAMPGATE_WEBHOOKS_LOG_RESTORED_H_
#define STAMPGATE_WEBHOOKS_LOG_RESTORED_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// Gives the log at `path` another cursor key: cursors from before are of another log now. A copy is behind what
// subscribers have seen, and new events take the places of lost ones, so that a cursor would lead past both without
// anybody noticing. The log's end becomes its high-water mark, so that what a copy does not have is no hole.
//
// Durable when it returns OK. Errors: kNotFound if there is no file; those of OpenSqliteEventLog, such as
// kFailedPrecondition while a process has the log open.
absl::Status MarkLogAsRestored(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_RESTORED_H_
