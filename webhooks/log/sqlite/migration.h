// Converts an event log's file from an older version to the current version, within the current transaction. Each
// function converts from one version to the next. A file is converted to version 3 when it is opened.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_MIGRATION_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_MIGRATION_H_

#include "absl/status/status.h"
#include "base/disk/sqlite.h"

namespace stampgate {

// Converts the tables of version 1 to version 2. Does not change the rows of events. The digest chain begins with the
// next stored event: the row of this event contains the checksum of the last existing row.
//
// Errors: kDataLoss if the log's state row is damaged, and those of SqliteStatus.
absl::Status MigrateFromVersion1(SqliteConnection& connection);

// Converts the tables of version 2 to version 3: each id gets the scope of its event. If retention has deleted the
// event of an id, the id matches events of every scope until the log forgets the id. Does not change the rows of
// events.
//
// Errors: those of SqliteStatus.
absl::Status MigrateFromVersion2(SqliteConnection& connection);

// Creates the tables of shared subscriptions, and sets the file's version to 4. The log calls it with the first change
// of a subscription, so that an earlier release, which refuses version 4, can use the file until then.
//
// Errors: those of SqliteStatus.
absl::Status MigrateFromVersion3(SqliteConnection& connection);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_MIGRATION_H_
