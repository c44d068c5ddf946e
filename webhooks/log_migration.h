// How the file of an older version becomes one of this version.
#ifndef STAMPGATE_WEBHOOKS_LOG_MIGRATION_H_
#define STAMPGATE_WEBHOOKS_LOG_MIGRATION_H_

#include "absl/status/status.h"
#include "webhooks/sqlite.h"

namespace stampgate {

// Changes the tables of version 1 to those of version 2, in the transaction that is under way. The rows of events stay
// as they are: the chain begins with the next event, which stands behind the last of them.
//
// Errors: kDataLoss if the row about the log is damaged, and those of SqliteStatus.
absl::Status MigrateFromVersion1(SqliteConnection& connection);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_MIGRATION_H_
