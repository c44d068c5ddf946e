// Marks an event log as restored from a copy, so that older cursors become invalid.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_RESTORED_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_RESTORED_H_

#include <string>

#include "absl/status/status.h"

namespace stampgate {

// Gives the event log at `path` a new cursor key, so that the gateway rejects all earlier cursors, as it rejects the
// cursors of another log. The copy lacks events that subscribers have already seen, and new events get the positions of
// the missing events. With an old cursor, a subscriber would miss these new events without any error. Also sets the
// high-water mark to the log's end, so that the next start does not report the missing events as a hole.
//
// Shared subscriptions continue with the state of the copy: what was settled after the copy was made is delivered
// again, if the copy has it. Everything in this state that is after the log's end is cut back to this end. The gateway
// stores SubscriptionHead::reserved ahead of the log, so that it would otherwise take the new events at these positions
// for sent.
//
// If this returns OK, the change is on the disk. Errors: kNotFound if there is no file at `path`; kDataLoss if the row
// of a subscription is damaged; those of OpenSqliteEventLog, such as kFailedPrecondition while a process has the log
// open.
absl::Status MarkLogAsRestored(const std::string& path);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_RESTORED_H_
