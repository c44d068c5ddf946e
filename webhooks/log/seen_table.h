// The ids of stored events: an index to find events, and the memory that deduplicates repetitions.
#ifndef STAMPGATE_WEBHOOKS_LOG_SEEN_TABLE_H_
#define STAMPGATE_WEBHOOKS_LOG_SEEN_TABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// Creates the table `seen`, empty. It has one row for each event id and scope, with the event's position, its body's
// SHA-256 and the time of the log's AgeClock at which it was stored. A row may outlive its event.
//
// `scope` is EncodeScope(IdScopeOf(event)). It is empty in rows that count for every scope: those of version 2 whose
// events had been deleted before ids had scopes.
extern const char kCreateSeen[];

// Creates the index by position. Run it after kCreateSeen.
extern const char kIndexSeen[];

// Fills the empty table with the rows of version 2, from the table `seen_of_version_2`.
extern const char kCopySeenOfVersion2[];

std::string EncodeScope(absl::string_view organization_id);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SEEN_TABLE_H_
