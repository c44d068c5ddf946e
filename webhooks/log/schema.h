// The event log's SQLite file: its tables, its version, and the settings of connections to it.
#ifndef STAMPGATE_WEBHOOKS_LOG_SCHEMA_H_
#define STAMPGATE_WEBHOOKS_LOG_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/disk/disk.h"
#include "webhooks/disk/exclusive_file.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// The file grows in steps of this many bytes.
inline constexpr int kGrowthBytes = 256 << 10;

// How long a connection waits for another program's lock.
inline constexpr int kBusyMs = 5000;

// Refuses a file that is no event log, before ClaimLogFile creates anything beside it. Errors: those of
// CheckDatabaseHeader.
absl::Status CheckLogFileHeader(const std::string& path);

// Claims the exclusive use of the file and of SQLite's files beside it. Errors: those of ExclusiveFile::Claim and
// RefuseOtherNames.
absl::StatusOr<ExclusiveFile> ClaimLogFile(const std::string& path);

// Makes sure that cached content of the file and its write-ahead log equals what is on the disk. Call before the file
// is opened, after ClaimLogFile. Errors: those of Disk::Settle.
absl::Status SettleLogFile(const std::string& path, Disk& disk);

// Opens the file for the one connection that writes and checkpoints. Creates the tables if the file is empty; migrates
// the tables of an older version. Changes nothing before it knows that the file is an event log. `synchronous_full` as
// in LogSafeguards.
//
// Errors: kFailedPrecondition if the file belongs to another program or a newer version, and those of SqliteStatus.
absl::StatusOr<SqliteConnection> OpenLogFileToWrite(const std::string& path, const std::string& vfs,
                                                    bool synchronous_full);

// Opens the file for a connection that can neither write nor, when it closes, checkpoint. Errors: those of
// SqliteStatus.
absl::StatusOr<SqliteConnection> OpenLogFileToRead(const std::string& path, const std::string& vfs);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SCHEMA_H_
