// Prepares an event log that was restored from a copy.
#ifndef STAMPGATE_WEBHOOKS_LOG_RESTORED_H_
#define STAMPGATE_WEBHOOKS_LOG_RESTORED_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// Gives the event log at `path` another cursor key, so that older cursors count as another log's. A copy ends before
// what subscribers have seen, and new events take the positions of lost ones: an old cursor would silently skip both.
// Also sets the high-water mark to the log's end, so that events missing from the copy are not reported as a hole.
//
// Durable when it returns OK. Errors: kNotFound if there is no file; those of OpenSqliteEventLog, such as
// kFailedPrecondition while a process has the log open.
absl::Status MarkLogAsRestored(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_RESTORED_H_
