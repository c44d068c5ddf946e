// Converts the file of an older version to this version, one version at a time, in the current transaction.
#ifndef STAMPGATE_WEBHOOKS_LOG_MIGRATION_H_
#define STAMPGATE_WEBHOOKS_LOG_MIGRATION_H_

#include "absl/status/status.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// Changes the tables of version 1 to those of version 2. Does not change the rows of events: the digest chain begins
// with the next event, which refers to the last of them.
//
// Errors: kDataLoss if the log's state row is damaged, and those of SqliteStatus.
absl::Status MigrateFromVersion1(SqliteConnection& connection);

// Changes the tables of version 2 to those of version 3: each id gets the scope of its event. An id whose event has
// been deleted counts for all scopes, until deduplication forgets it. Does not change the rows of events.
//
// Errors: those of SqliteStatus.
absl::Status MigrateFromVersion2(SqliteConnection& connection);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_MIGRATION_H_
