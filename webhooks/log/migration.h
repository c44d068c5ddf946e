// How the file of an older version becomes one of this version, step by step, in the transaction that is under way.
#ifndef STAMPGATE_WEBHOOKS_LOG_MIGRATION_H_
#define STAMPGATE_WEBHOOKS_LOG_MIGRATION_H_

#include "absl/status/status.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// Changes the tables of version 1 to those of version 2. The rows of events stay as they are: the chain begins with the
// next event, which stands behind the last of them.
//
// Errors: kDataLoss if the row about the log is damaged, and those of SqliteStatus.
absl::Status MigrateFromVersion1(SqliteConnection& connection);

// Changes the tables of version 2 to those of version 3: each id gets the scope of its event. An id whose event is gone
// stands for all scopes, until it is forgotten. The rows of events stay as they are.
//
// Errors: those of SqliteStatus.
absl::Status MigrateFromVersion2(SqliteConnection& connection);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_MIGRATION_H_
