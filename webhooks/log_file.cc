#include "webhooks/log_file.h"

#include <sodium.h>

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "webhooks/hole_table.h"
#include "webhooks/log_migration.h"
#include "webhooks/log_record.h"

namespace stampgate {
namespace {

constexpr int64_t kApplicationId = 0x73746765;  // "stge"
constexpr int64_t kVersion = 2;

// What a filter looks at comes before what is long, and the body last: SQLite reads a row only as far as it is asked.
// AUTOINCREMENT keeps SQLite from giving a position twice, and is checked against the log's own count.
constexpr char kCreateEvents[] =
    "CREATE TABLE events ("
    " seq INTEGER PRIMARY KEY AUTOINCREMENT,"
    " commit_us INTEGER NOT NULL,"
    " event_id TEXT NOT NULL,"
    " organization_id TEXT NOT NULL,"
    " parent_organization_id TEXT NOT NULL,"
    " type TEXT NOT NULL,"
    " key_id TEXT NOT NULL,"
    " timestamp_ms INTEGER NOT NULL,"
    " signature BLOB NOT NULL,"
    " headers BLOB NOT NULL,"
    " body_sha256 BLOB NOT NULL,"
    " checksum BLOB NOT NULL,"
    " previous BLOB NOT NULL,"
    " body BLOB NOT NULL"
    ") STRICT";

// Finds events by their id, and outlives them.
constexpr char kCreateSeen[] =
    "CREATE TABLE seen ("
    " event_id TEXT PRIMARY KEY,"
    " seq INTEGER NOT NULL,"
    " body_sha256 BLOB NOT NULL,"
    " stored_us INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID";
constexpr char kIndexSeen[] = "CREATE UNIQUE INDEX seen_by_seq ON seen (seq)";

enum class FileKind { kEmpty, kVersion1, kLog };

absl::StatusOr<FileKind> KindOf(SqliteConnection& connection) {
  absl::StatusOr<int64_t> application = connection.Number("PRAGMA application_id");
  if (absl::IsFailedPrecondition(application.status())) {
    return absl::FailedPreconditionError("this is not an event log, or its beginning is damaged");
  }
  if (!application.ok()) return application.status();
  absl::StatusOr<int64_t> version = connection.Number("PRAGMA user_version");
  if (!version.ok()) return version.status();
  absl::StatusOr<int64_t> tables = connection.Number("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  if (*application == 0 && *version == 0 && *tables == 0) return FileKind::kEmpty;
  if (*application != kApplicationId) {
    return absl::FailedPreconditionError("this is not an event log: it is another program's database");
  }
  if (*version > kVersion) {
    return absl::FailedPreconditionError(absl::StrCat("its version is ", *version, ", written by a newer stampgate; ",
                                                      "this one reads up to version ", kVersion));
  }
  if (*version < 1) return absl::DataLossError("it says that it has no version");
  return *version == kVersion ? FileKind::kLog : FileKind::kVersion1;
}

absl::Status Expect(SqliteConnection& connection, const char* pragma, int64_t expected) {
  absl::StatusOr<int64_t> value = connection.Number(pragma);
  if (!value.ok()) return value.status();
  if (*value == expected) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("SQLite does not keep to ", pragma, ", it says ", *value));
}

// For every connection: the file is data, never code.
absl::Status SetCommon(SqliteConnection& connection) {
  sqlite3_busy_timeout(connection.get(), kBusyMs);
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  return connection.Run(
      "PRAGMA trusted_schema = OFF;"
      "PRAGMA cell_size_check = ON;"
      "PRAGMA foreign_keys = ON;"
      "PRAGMA mmap_size = 0;"       // an I/O error is an error code, not a signal
      "PRAGMA temp_store = MEMORY"  // events touch no file but the log
  );
}

absl::Status SetWriting(SqliteConnection& connection, bool synchronous_full) {
  absl::StatusOr<std::string> journal_mode = connection.Text("PRAGMA journal_mode = WAL");
  if (!journal_mode.ok()) return journal_mode.status();
  if (*journal_mode != "wal") {
    return absl::UnavailableError(absl::StrCat("SQLite refuses to use a write-ahead log here: ", *journal_mode));
  }
  // NORMAL does not sync at each commit; it is there to show what a power cut then does.
  absl::Status status = connection.Run(synchronous_full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  if (!status.ok()) return status;
  status = Expect(connection, "PRAGMA synchronous", synchronous_full ? 2 : 1);
  if (!status.ok()) return status;
  int growth = kGrowthBytes;
  sqlite3_file_control(connection.get(), "main", SQLITE_FCNTL_CHUNK_SIZE, &growth);
  // secure_delete: what is trimmed is overwritten, it may hold secrets. The rest of what has been cut from the
  // write-ahead log stays on disk up to its limit, which is what the log still can use when the disk is full.
  return connection.Run(
      "PRAGMA secure_delete = ON;"
      "PRAGMA cache_size = -16384;"            // KiB
      "PRAGMA journal_size_limit = 67108864;"  // bytes
      "PRAGMA wal_autocheckpoint = 0");        // it would not tell of a failed sync
}

// After an error the connection is to be closed, which rolls back.
absl::Status MakeTables(SqliteConnection& connection) {
  absl::Status status = connection.Run("BEGIN IMMEDIATE");
  if (!status.ok()) return status;
  for (const std::string& sql :
       {std::string(kCreateLogRecord), std::string(kCreateEvents), std::string(kCreateSeen), std::string(kIndexSeen),
        std::string(kCreateHoles), absl::StrCat("PRAGMA application_id = ", kApplicationId),
        absl::StrCat("PRAGMA user_version = ", kVersion)}) {
    if (status = connection.Run(sql.c_str()); !status.ok()) return status;
  }
  LogRecord record;
  record.identity = MakeLogIdentity();
  absl::StatusOr<LogRecordWriter> writer = LogRecordWriter::Open(connection);
  if (!writer.ok()) return writer.status();
  if (status = writer->Write(record); !status.ok()) return status;
  return connection.Run("COMMIT");
}

// After an error the connection is to be closed, which rolls back.
absl::Status Migrate(SqliteConnection& connection) {
  if (absl::Status status = connection.Run("BEGIN IMMEDIATE"); !status.ok()) return status;
  if (absl::Status status = MigrateFromVersion1(connection); !status.ok()) return status;
  return connection.Run("COMMIT");
}

}  // namespace

absl::StatusOr<ExclusiveFile> ClaimLogFile(const std::string& path) {
  absl::StatusOr<ExclusiveFile> file = ExclusiveFile::Claim(path, {"-wal", "-shm", "-journal", "-mark"});
  if (!file.ok()) return file;
  if (absl::Status status = RefuseOtherNames(path); !status.ok()) return status;
  return file;
}

absl::Status SettleLogFile(const std::string& path, Disk& disk) {
  for (const char* suffix : {"", "-wal", "-journal"}) {
    if (absl::Status status = disk.Settle(path + suffix); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<SqliteConnection> OpenLogFileToWrite(const std::string& path, const std::string& vfs,
                                                    bool synchronous_full) {
  if (sodium_init() < 0) return absl::InternalError("libsodium does not start");
  absl::StatusOr<SqliteConnection> connection =
      SqliteConnection::Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, vfs);
  if (!connection.ok()) return connection;
  if (absl::Status status = SetCommon(*connection); !status.ok()) return status;
  absl::StatusOr<FileKind> kind = KindOf(*connection);
  if (!kind.ok()) return kind.status();
  if (absl::Status status = SetWriting(*connection, synchronous_full); !status.ok()) return status;
  if (*kind == FileKind::kEmpty) {
    if (absl::Status status = MakeTables(*connection); !status.ok()) return status;
  }
  if (*kind == FileKind::kVersion1) {
    if (absl::Status status = Migrate(*connection); !status.ok()) return status;
  }
  return connection;
}

absl::StatusOr<SqliteConnection> OpenLogFileToRead(const std::string& path, const std::string& vfs) {
  absl::StatusOr<SqliteConnection> connection =
      SqliteConnection::Open(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs);
  if (!connection.ok()) return connection;
  if (absl::Status status = SetCommon(*connection); !status.ok()) return status;
  // There may be one for each subscriber, and the system caches the file for all.
  absl::Status status = connection->Run("PRAGMA query_only = ON; PRAGMA cache_size = -512");
  if (!status.ok()) return status;
  return connection;
}

void RemoveCompanionsOnClose(const SqliteConnection& connection) {
  sqlite3_db_config(connection.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
}

}  // namespace stampgate
