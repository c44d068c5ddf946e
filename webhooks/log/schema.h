// The log's SQLite file: its tables, its version, and how connections to it are set.
#ifndef STAMPGATE_WEBHOOKS_LOG_SCHEMA_H_
#define STAMPGATE_WEBHOOKS_LOG_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/disk/disk.h"
#include "webhooks/disk/exclusive_file.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// The file grows by this much at once, in bytes.
inline constexpr int kGrowthBytes = 256 << 10;

// How long a connection waits for another program's lock.
inline constexpr int kBusyMs = 5000;

// Refuses a file that is no log, before ClaimLogFile makes anything beside it. Errors: those of CheckDatabaseHeader.
absl::Status CheckLogFileHeader(const std::string& path);

// Takes the right to use the file and what SQLite keeps beside it. Errors: those of ExclusiveFile::Claim
// and RefuseOtherNames.
absl::StatusOr<ExclusiveFile> ClaimLogFile(const std::string& path);

// Makes sure that what the file and its write-ahead log hold is what the disk has. To be called before the file is
// opened, by the one that has the right to use it. Errors: those of Disk::Settle.
absl::Status SettleLogFile(const std::string& path, Disk& disk);

// Opens the file for the one connection that writes and checkpoints, and makes the tables if the file is empty, or
// brings those of an older version up to this one. Nothing in the file is changed before it is known to be a log.
// `synchronous_full` as in LogSafeguards.
//
// Errors: kFailedPrecondition if the file is another program's or of a newer version, and those of SqliteStatus.
absl::StatusOr<SqliteConnection> OpenLogFileToWrite(const std::string& path, const std::string& vfs,
                                                    bool synchronous_full);

// Opens the file for a connection that cannot write, nor checkpoint when it closes. Errors: those of SqliteStatus.
absl::StatusOr<SqliteConnection> OpenLogFileToRead(const std::string& path, const std::string& vfs);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SCHEMA_H_
