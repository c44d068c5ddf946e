#include "base/disk/durable_file.h"

#include <sqlite3.h>

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

// The database file grows in steps of this many bytes.
constexpr int kGrowthBytes = 256 << 10;

}  // namespace

absl::StatusOr<SqliteConnection> DurableFile::Connect(
    const std::string& path, const std::string& vfs, const Settings& settings, bool synchronous_full,
    absl::FunctionRef<absl::Status(SqliteConnection& connection, int64_t version)> upgrade) {
  absl::StatusOr<SqliteConnection> connection =
      SqliteConnection::Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs);
  if (!connection.ok()) return connection;
  ABSL_RETURN_IF_ERROR(SetUntrusting(*connection, settings.busy_ms));
  ABSL_ASSIGN_OR_RETURN(const int64_t version, VersionOfDatabase(*connection, settings.format));
  ABSL_RETURN_IF_ERROR(SetDurable(*connection, synchronous_full));
  int growth = kGrowthBytes;
  sqlite3_file_control(connection->get(), "main", SQLITE_FCNTL_CHUNK_SIZE, &growth);
  if (settings.secure_delete) {
    ABSL_RETURN_IF_ERROR(connection->Run("PRAGMA secure_delete = ON"));
  }
  ABSL_RETURN_IF_ERROR(connection->Run("PRAGMA cache_size = -16384"));  // KiB
  if (version >= settings.format.version) return connection;
  ABSL_RETURN_IF_ERROR(connection->Run("BEGIN IMMEDIATE"));
  ABSL_RETURN_IF_ERROR(upgrade(*connection, version));
  for (const std::string& sql : {absl::StrCat("PRAGMA application_id = ", settings.format.application_id),
                                 absl::StrCat("PRAGMA user_version = ", settings.format.version)}) {
    ABSL_RETURN_IF_ERROR(connection->Run(sql.c_str()));
  }
  ABSL_RETURN_IF_ERROR(connection->Run("COMMIT"));
  return connection;
}

absl::StatusOr<std::unique_ptr<DurableFile>> DurableFile::Create(SqliteConnection connection, int checkpoint_pages,
                                                                 int busy_ms) {
  std::unique_ptr<DurableFile> file(new DurableFile(std::move(connection), checkpoint_pages, busy_ms));
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&file->begin_, "BEGIN IMMEDIATE"},
      {&file->commit_, "COMMIT"},
      {&file->roll_back_, "ROLLBACK"},
      {&file->page_count_, "PRAGMA page_count"},
      {&file->free_pages_, "PRAGMA freelist_count"},
  };
  for (const auto& [statement, sql] : statements) {
    ABSL_ASSIGN_OR_RETURN(*statement, SqliteStatement::Prepare(file->connection_, sql));
  }
  ABSL_ASSIGN_OR_RETURN(file->page_bytes_, file->connection_.Number("PRAGMA page_size"));
  return file;
}

absl::Status DurableFile::Reserve() {
  ABSL_ASSIGN_OR_RETURN(const int64_t pages, Count(page_count_));
  int64_t bytes = pages * page_bytes_;
  if (bytes <= reserved_bytes_) return absl::OkStatus();
  if (sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_SIZE_HINT, &bytes) != SQLITE_OK) {
    return absl::ResourceExhaustedError("the disk has no space for the file to grow");
  }
  reserved_bytes_ = (bytes + kGrowthBytes - 1) / kGrowthBytes * kGrowthBytes;
  return absl::OkStatus();
}

absl::Status DurableFile::Abandon(const absl::Status& why, absl::FunctionRef<absl::Status()> reread) {
  if (!CanGoOn(why)) return why;
  reserved_bytes_ = 0;  // because a checkpoint frees unused reserved space
  if (connection_.in_transaction()) roll_back_.Run().IgnoreError();
  if (connection_.in_transaction()) return absl::UnavailableError("a failed transaction cannot be rolled back");
  ABSL_RETURN_IF_ERROR(reread());
  // After a complete checkpoint, later transactions overwrite the write-ahead log from its beginning, which needs no
  // space.
  ABSL_RETURN_IF_ERROR(checkpointer_.RunNow());
  return why;
}

absl::StatusOr<int64_t> DurableFile::BytesInUse() {
  ABSL_ASSIGN_OR_RETURN(const int64_t pages, Count(page_count_));
  ABSL_ASSIGN_OR_RETURN(const int64_t free, Count(free_pages_));
  return (pages - free) * page_bytes_;
}

absl::StatusOr<int64_t> DurableFile::Count(SqliteStatement& pragma) {
  SqliteReset reset(pragma);
  ABSL_RETURN_IF_ERROR(pragma.Step().status());
  return pragma.Number(0);
}

absl::StatusOr<bool> DeleteInSmallerSteps(int max_rows, absl::FunctionRef<absl::StatusOr<bool>(int max_rows)> step) {
  for (;; max_rows = std::max(1, max_rows / 8)) {
    absl::StatusOr<bool> done = step(max_rows);
    if (!absl::IsResourceExhausted(done.status()) || max_rows == 1) return done;
  }
}

}  // namespace stampgate
