// The settings of connections to the gateway's SQLite files.
#ifndef STAMPGATE_WEBHOOKS_DISK_DATABASE_SETTINGS_H_
#define STAMPGATE_WEBHOOKS_DISK_DATABASE_SETTINGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// How a file identifies its format.
struct DatabaseFormat {
  std::string name;            // for errors, with its article: "an event log"
  int64_t application_id = 0;  // PRAGMA application_id
  int64_t version = 0;         // PRAGMA user_version; not 0
};

// For every connection: treats the file as untrusted data, never as code, and turns an I/O error into an error code
// instead of a signal. Does not change the file. `busy_ms`: how long a statement waits for another program's lock.
absl::Status SetUntrusting(SqliteConnection& connection, int busy_ms);

// The file's version, from 1 to that of `format`; 0 if the file is empty, as a new one is. Only reads.
//
// Errors: kFailedPrecondition if the file belongs to another program or a newer version; kDataLoss if it has no version
// number; those of SqliteStatus.
absl::StatusOr<int64_t> VersionOfDatabase(SqliteConnection& connection, const DatabaseFormat& format);

// Refuses a file whose header is not that of a database of `format`, before anything is created beside it. Accepts an
// empty file, and one whose header may still be in its write-ahead log. Only reads. Do not use it for a file that this
// process has open: SQLite's locks on it would be released.
//
// Errors: kNotFound if there is no file; kFailedPrecondition if it is another kind of file; kUnavailable if it cannot
// be read.
absl::Status CheckDatabaseHeader(const std::string& path, const DatabaseFormat& format);

// For the connection that writes: a commit is on the disk when it returns OK, and checkpoints run only when requested.
// Verifies that SQLite applied the settings. Without `synchronous_full` commits are not synced; tests use that to prove
// that a power cut then loses data.
absl::Status SetDurable(SqliteConnection& connection, bool synchronous_full);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_DATABASE_SETTINGS_H_
