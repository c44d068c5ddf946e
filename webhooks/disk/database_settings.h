// How connections to the gateway's SQLite files are set.
#ifndef STAMPGATE_WEBHOOKS_DISK_DATABASE_SETTINGS_H_
#define STAMPGATE_WEBHOOKS_DISK_DATABASE_SETTINGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// How a file says what it is.
struct DatabaseFormat {
  std::string name;            // for errors, with its article: "an event log"
  int64_t application_id = 0;  // PRAGMA application_id
  int64_t version = 0;         // PRAGMA user_version; not 0
};

// For every connection: the file is data and never code, and an I/O error is an error code and not a signal. Changes
// nothing in the file. `busy_ms`: how long a statement waits for another program's lock.
absl::Status SetUntrusting(SqliteConnection& connection, int busy_ms);

// The file's version, from 1 to that of `format`, or 0 if the file is empty, as a new one is. Reads only.
//
// Errors: kFailedPrecondition if the file is another program's or of a newer version; kDataLoss if it says that it has
// no version; those of SqliteStatus.
absl::StatusOr<int64_t> VersionOfDatabase(SqliteConnection& connection, const DatabaseFormat& format);

// Refuses a file whose header is not that of a database of `format`, before anything is made beside it. An empty file,
// and one whose header may still be in its write-ahead log, pass. Reads only. Not for a file that this process has
// open: SQLite's locks on it would be lost.
//
// Errors: kNotFound if there is no file; kFailedPrecondition if it is something else; kUnavailable if it cannot be
// read.
absl::Status CheckDatabaseHeader(const std::string& path, const DatabaseFormat& format);

// For the connection that writes: a commit is on the disk when it returns OK, and nothing is checkpointed unasked.
// Reads back what SQLite made of it. Without `synchronous_full` commits are not synced: for tests that show what a
// power cut does then.
absl::Status SetDurable(SqliteConnection& connection, bool synchronous_full);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_DATABASE_SETTINGS_H_
