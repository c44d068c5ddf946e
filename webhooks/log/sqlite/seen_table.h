// The table of the ids of stored events. The log uses the table to find events and to recognize repetitions.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_SEEN_TABLE_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_SEEN_TABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// SQL that creates the empty table `seen`. It has one row for each event id and scope. A row has the event's position,
// the SHA-256 of its body, and the time of the log's AgeClock at which the event was stored. Retention can delete the
// event earlier than the row.
//
// The column `scope` is EncodeScope(IdScopeOf(event)). A row with an empty `scope` matches events of every scope. The
// migration from version 2 writes an empty `scope` if retention had already deleted the row's event.
extern const char kCreateSeen[];

// SQL that creates the index of `seen` by position. Run this SQL after kCreateSeen.
extern const char kIndexSeen[];

// SQL that copies the rows of version 2 from the table `seen_of_version_2` into the empty table `seen`.
extern const char kCopySeenOfVersion2[];

std::string EncodeScope(absl::string_view organization_id);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_SEEN_TABLE_H_
