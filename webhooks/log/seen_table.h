// The table of the ids of stored events, which is used to find events and to recognize repetitions.
#ifndef STAMPGATE_WEBHOOKS_LOG_SEEN_TABLE_H_
#define STAMPGATE_WEBHOOKS_LOG_SEEN_TABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// SQL that creates the empty table `seen`. It has one row for each event id and scope. A row has the event's position,
// the SHA-256 of its body, and the time of the log's AgeClock at which the event was stored. Retention may delete the
// event earlier than the row.
//
// The column `scope` is EncodeScope(IdScopeOf(event)). An empty `scope` counts for every scope. Rows of version 2 have
// it if their event had been deleted before the migration.
extern const char kCreateSeen[];

// SQL that creates the index by position. Run it after kCreateSeen.
extern const char kIndexSeen[];

// SQL that copies the rows of version 2 from the table `seen_of_version_2` into the empty table.
extern const char kCopySeenOfVersion2[];

std::string EncodeScope(absl::string_view organization_id);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SEEN_TABLE_H_
