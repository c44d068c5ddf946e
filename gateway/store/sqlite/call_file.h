// The call store's SQLite file: its tables and its version.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_CALL_FILE_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_CALL_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/sqlite.h"
#include "gateway/store/sqlite/store_state.h"

namespace stampgate {

// Suffixes of the two mark files. The file with the first suffix holds the number and id of the last commit in which an
// attempt began. The file with the second suffix holds the upper bound of the used timestamps.
inline constexpr char kCommitMarkSuffix[] = "-mark";
inline constexpr char kTimestampMarkSuffix[] = "-timestamps";

// How long a statement waits for another program's lock. This time is short, because no other program should use the
// file.
inline constexpr int kCallFileBusyMs = 100;

// Returns an error if the file at `path` is not a call store. Call this function before ClaimCallFile, which creates
// other files beside that file. Errors: those of CheckDatabaseHeader.
absl::Status CheckCallFileHeader(const std::string& path);

// Claims exclusive use of the file, its write-ahead log and its marks. Errors: those of ExclusiveFile::Claim and
// RefuseOtherNames.
absl::StatusOr<ExclusiveFile> ClaimCallFile(const std::string& path);

// Does the same for a new file to which a store is being copied: see ExclusiveFile::ClaimForCopy.
absl::StatusOr<ExclusiveFile> ClaimCallFileForCopy(const std::string& path);

// Opens the only connection that writes to the file: see DurableFile::Connect. If the file is empty, creates the tables
// and stores `state_of_new`.
absl::StatusOr<SqliteConnection> OpenCallFile(const std::string& path, const std::string& vfs, bool synchronous_full,
                                              const StoreState& state_of_new);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_CALL_FILE_H_
