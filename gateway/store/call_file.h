// The call store's SQLite file: its tables and its version.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_FILE_H_
#define STAMPGATE_GATEWAY_STORE_CALL_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gateway/store/store_record.h"
#include "webhooks/disk/exclusive_file.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// The file grows in steps of this many bytes.
inline constexpr int kCallFileGrowthBytes = 256 << 10;

// The file beside it that holds the number and id of the last commit in which an attempt began.
inline constexpr char kCommitMarkSuffix[] = "-mark";
inline constexpr char kTimestampMarkSuffix[] = "-timestamps";

// No other program should use the file, so its lock is not waited for longer.
inline constexpr int kCallFileBusyMs = 100;

// Refuses a file that is no call store, before ClaimCallFile creates anything beside it. Errors: those of
// CheckDatabaseHeader.
absl::Status CheckCallFileHeader(const std::string& path);

// Claims the exclusive use of the file and of the files beside it. Errors: those of ExclusiveFile::Claim and
// RefuseOtherNames.
absl::StatusOr<ExclusiveFile> ClaimCallFile(const std::string& path);

// Opens the file for the one connection that uses it. Creates the tables with `record_of_new` in an empty file. Changes
// nothing before it knows that the file is a call store.
//
// Errors: kFailedPrecondition if the file belongs to another program or a newer version, and those of SqliteStatus.
absl::StatusOr<SqliteConnection> OpenCallFile(const std::string& path, const std::string& vfs, bool synchronous_full,
                                              const StoreRecord& record_of_new);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_FILE_H_
