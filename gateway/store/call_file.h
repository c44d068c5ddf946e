// The store's SQLite file: its tables and its version.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_FILE_H_
#define STAMPGATE_GATEWAY_STORE_CALL_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gateway/store/store_record.h"
#include "webhooks/disk/exclusive_file.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// The file grows by this much at once, in bytes.
inline constexpr int kCallFileGrowthBytes = 256 << 10;

// Beside the file: the number and id of the last commit in which an attempt has begun, and the timestamps' end.
inline constexpr char kCommitMarkSuffix[] = "-mark";
inline constexpr char kTimestampMarkSuffix[] = "-timestamps";

// Nobody else has business with the file, so a lock that another program holds is not waited for longer.
inline constexpr int kCallFileBusyMs = 100;

// Refuses a file that is no call store, before ClaimCallFile makes anything beside it. Errors: those of
// CheckDatabaseHeader.
absl::Status CheckCallFileHeader(const std::string& path);

// Takes the right to use the file and what is kept beside it. Errors: those of ExclusiveFile::Claim and
// RefuseOtherNames.
absl::StatusOr<ExclusiveFile> ClaimCallFile(const std::string& path);

// Opens the file for the one connection that uses it. An empty file gets the tables, and `record_of_new`. Nothing in
// the file is changed before it is known to be a call store.
//
// Errors: kFailedPrecondition if the file is another program's or of a newer version, and those of SqliteStatus.
absl::StatusOr<SqliteConnection> OpenCallFile(const std::string& path, const std::string& vfs, bool synchronous_full,
                                              const StoreRecord& record_of_new);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_FILE_H_
