#include "gateway/store/sqlite/call_file.h"

#include <cstdint>
#include <initializer_list>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/string_view.h"
#include "base/disk/database_settings.h"
#include "base/disk/durable_file.h"
#include "gateway/store/sqlite/call_table.h"

namespace stampgate {
namespace {

const DurableFile::Settings kSettings = {
    .format = {.name = "a call store", .application_id = 0x73746763 /* "stgc" */, .version = 1},
    .busy_ms = kCallFileBusyMs};

// The suffixes of the files beside the store's file.
constexpr std::initializer_list<absl::string_view> kCompanions = {"-wal", "-shm", "-journal", kCommitMarkSuffix,
                                                                  kTimestampMarkSuffix};

}  // namespace

absl::Status CheckCallFileHeader(const std::string& path) { return CheckDatabaseHeader(path, kSettings.format); }

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
  const auto make_tables = [&](SqliteConnection& connection, int64_t /*version*/) -> absl::Status {
    for (const char* sql : {kCreateStoreState, kCreateCalls, kIndexCalls}) {
      ABSL_RETURN_IF_ERROR(connection.Run(sql));
    }
    ABSL_ASSIGN_OR_RETURN(StoreStateRow row, StoreStateRow::Open(connection));
    return row.Write(state_of_new);
  };
  return DurableFile::Connect(path, vfs, kSettings, synchronous_full, make_tables);
}

}  // namespace stampgate
