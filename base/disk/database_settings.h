// Settings of connections to SQLite files, and checks that a file has the expected format.
#ifndef STAMPGATE_BASE_DISK_DATABASE_SETTINGS_H_
#define STAMPGATE_BASE_DISK_DATABASE_SETTINGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/disk/sqlite.h"

namespace stampgate {

// The values in a file that identify its format.
struct DatabaseFormat {
  std::string name;            // for error messages, with its article: "an event log"
  int64_t application_id = 0;  // PRAGMA application_id
  int64_t version = 0;         // PRAGMA user_version; not 0
  // The newest version that can be opened, if it is later than `version`. The owner raises the version of a file itself
  // when the file first needs it, so that older programs can use every other file.
  int64_t newest_version = 0;
};

// Configures a connection to treat its file as untrusted: SQLite runs no code from the file (triggers, views), and
// returns an error code instead of raising a signal if reading fails. Use it for every connection. Does not change the
// file. `busy_ms` is how long a statement waits for a lock.
absl::Status SetUntrusting(SqliteConnection& connection, int busy_ms);

// Returns the file's version, from 1 to the newest of `format`, or 0 if the file is new and empty. Does not change the
// file.
//
// Errors: kFailedPrecondition if the file belongs to another program or a newer version; kDataLoss if the file has no
// version number; those of SqliteStatus.
absl::StatusOr<int64_t> VersionOfDatabase(SqliteConnection& connection, const DatabaseFormat& format);

// Returns an error if the file's header is not that of a database of `format`. Call this function before other files
// are created beside the file. Accepts an empty file, and a file whose header can still be in the file's write-ahead
// log. Does not change the file. Requires that this process does not have the file open, because CheckDatabaseHeader
// would release SQLite's locks.
//
// Errors: kNotFound if there is no file; kFailedPrecondition if the file has another format; kUnavailable if the file
// cannot be read.
absl::Status CheckDatabaseHeader(const std::string& path, const DatabaseFormat& format);

// Configures the connection that writes: if a commit returns OK, the disk has the transaction, and checkpoints run only
// on request. Verifies that SQLite applied the settings. If `synchronous_full` is false, commits are not synced. Tests
// use this setting to prove that a power cut loses data without the sync.
absl::Status SetDurable(SqliteConnection& connection, bool synchronous_full);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_DATABASE_SETTINGS_H_
