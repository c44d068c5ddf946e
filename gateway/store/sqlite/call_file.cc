#include "gateway/store/sqlite/call_file.h"

#include <initializer_list>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/disk/database_settings.h"
#include "gateway/store/sqlite/call_table.h"

namespace stampgate {
namespace {

const DatabaseFormat kFormat = {.name = "a call store", .application_id = 0x73746763 /* "stgc" */, .version = 1};

// The suffixes of the files beside the store's file.
constexpr std::initializer_list<absl::string_view> kCompanions = {"-wal", "-shm", "-journal", kCommitMarkSuffix,
                                                                  kTimestampMarkSuffix};

// After an error, OpenCallFile closes the connection, which rolls the transaction back.
absl::Status MakeTables(SqliteConnection& connection, const StoreState& state) {
  for (const std::string& sql :
       {std::string("BEGIN IMMEDIATE"), std::string(kCreateStoreState), std::string(kCreateCalls),
        std::string(kIndexCalls), absl::StrCat("PRAGMA application_id = ", kFormat.application_id),
        absl::StrCat("PRAGMA user_version = ", kFormat.version)}) {
    ABSL_RETURN_IF_ERROR(connection.Run(sql.c_str()));
  }
  ABSL_ASSIGN_OR_RETURN(StoreStateRow row, StoreStateRow::Open(connection));
  ABSL_RETURN_IF_ERROR(row.Write(state));
  return connection.Run("COMMIT");
}

}  // namespace

absl::Status CheckCallFileHeader(const std::string& path) { return CheckDatabaseHeader(path, kFormat); }

absl::StatusOr<ExclusiveFile> ClaimCallFile(const std::string& path) {
  absl::StatusOr<ExclusiveFile> file = ExclusiveFile::Claim(path, kCompanions);
  if (!file.ok()) return file;
  ABSL_RETURN_IF_ERROR(RefuseOtherNames(path));
  return file;
}

absl::StatusOr<ExclusiveFile> ClaimCallFileForCopy(const std::string& path) {
  return ExclusiveFile::ClaimForCopy(path, kCompanions);
}

absl::StatusOr<SqliteConnection> OpenCallFile(const std::string& path, const std::string& vfs, bool synchronous_full,
                                              const StoreState& state_of_new) {
  absl::StatusOr<SqliteConnection> connection =
      SqliteConnection::Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs);
  if (!connection.ok()) return connection;
  ABSL_RETURN_IF_ERROR(SetUntrusting(*connection, kCallFileBusyMs));
  ABSL_ASSIGN_OR_RETURN(const int64_t version, VersionOfDatabase(*connection, kFormat));
  ABSL_RETURN_IF_ERROR(SetDurable(*connection, synchronous_full));
  int growth = kCallFileGrowthBytes;
  sqlite3_file_control(connection->get(), "main", SQLITE_FCNTL_CHUNK_SIZE, &growth);
  ABSL_RETURN_IF_ERROR(connection->Run("PRAGMA cache_size = -16384"));  // KiB
  if (version == 0) {
    ABSL_RETURN_IF_ERROR(MakeTables(*connection, state_of_new));
  }
  return connection;
}

}  // namespace stampgate
