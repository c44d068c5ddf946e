// The ids that a log has stored: they find events, and outlive them.
#ifndef STAMPGATE_WEBHOOKS_LOG_SEEN_TABLE_H_
#define STAMPGATE_WEBHOOKS_LOG_SEEN_TABLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace stampgate {

// The table `seen`, with no row in it: one row for each event id and scope, with the event's position, its body's
// SHA-256 and the time of the log's AgeClock at which it was stored.
//
// `scope` is what EncodeScope makes of IdScopeOf(event). It is empty in rows that stand for the id in every scope:
// those of version 2 whose events were gone before the ids had scopes.
extern const char kCreateSeen[];

// The index by position; to be made after the table.
extern const char kIndexSeen[];

// Fills the table, which is there and empty, with the rows of version 2 that are in the table `seen_of_version_2`.
extern const char kCopySeenOfVersion2[];

std::string EncodeScope(absl::string_view organization_id);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SEEN_TABLE_H_
