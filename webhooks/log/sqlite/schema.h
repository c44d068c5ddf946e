// Creates, checks and opens the event log's SQLite file.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_SCHEMA_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/disk/disk.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/sqlite.h"

namespace stampgate {

// How long a statement waits for another program's lock.
inline constexpr int kBusyMs = 5000;

// Returns an error if the file is not an event log. Call CheckLogFileHeader before ClaimLogFile, which creates other
// files beside the log's file. Errors: those of CheckDatabaseHeader.
absl::Status CheckLogFileHeader(const std::string& path);

// Claims exclusive use of the file, its write-ahead log and its mark. Errors: those of ExclusiveFile::Claim and
// RefuseOtherNames.
absl::StatusOr<ExclusiveFile> ClaimLogFile(const std::string& path);

// Does the same for a new file to which a log is being copied: see ExclusiveFile::ClaimForCopy.
absl::StatusOr<ExclusiveFile> ClaimLogFileForCopy(const std::string& path);

// Makes sure that, for the file and its write-ahead log, the page cache has the same content as the disk. Call
// SettleLogFile after ClaimLogFile and before the file is opened. Errors: those of Disk::Settle.
absl::Status SettleLogFile(const std::string& path, Disk& disk);

// Opens the only connection that writes to the file: see DurableFile::Connect. If the file is empty, creates the
// tables. If the file has a version before 3, migrates it to version 3; for version 4, see MigrateFromVersion3. For
// `synchronous_full`, see LogSafeguards.
absl::StatusOr<SqliteConnection> OpenLogFileToWrite(const std::string& path, const std::string& vfs,
                                                    bool synchronous_full);

// Opens a connection that cannot write, and that runs no checkpoint when it is closed. Errors: those of SqliteStatus.
absl::StatusOr<SqliteConnection> OpenLogFileToRead(const std::string& path, const std::string& vfs);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_SCHEMA_H_
