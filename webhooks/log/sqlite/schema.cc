#include "webhooks/log/sqlite/schema.h"

#include <sodium.h>

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/status_macros.h"
#include "absl/strings/string_view.h"
#include "base/disk/database_settings.h"
#include "base/disk/durable_file.h"
#include "webhooks/log/sqlite/hole_table.h"
#include "webhooks/log/sqlite/migration.h"
#include "webhooks/log/sqlite/seen_table.h"
#include "webhooks/log/sqlite/subscription_table.h"
#include "webhooks/log/state.h"

namespace stampgate {
namespace {

const DurableFile::Settings kSettings = {.format = {.name = "an event log",
                                                    .application_id = 0x73746765 /* "stge" */,
                                                    .version = 3,
                                                    .newest_version = kVersionWithSubscriptions},
                                         .busy_ms = kBusyMs,
                                         .secure_delete = true};

// The suffixes of the files beside the log's file.
constexpr std::initializer_list<absl::string_view> kCompanions = {"-wal", "-shm", "-journal", "-mark"};

// Columns that filters use come first, and the body last, because SQLite reads a row only up to the last column that it
// needs. AUTOINCREMENT prevents SQLite from using a position twice. LogWriter::Check compares AUTOINCREMENT's counter
// with LogState::latest.
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

absl::Status MakeTables(SqliteConnection& connection) {
  for (const char* sql : {kCreateLogState, kCreateEvents, kCreateSeen, kIndexSeen, kCreateHoles}) {
    ABSL_RETURN_IF_ERROR(connection.Run(sql));
  }
  LogState state;
  state.identity = MakeLogIdentity();
  ABSL_ASSIGN_OR_RETURN(LogStateWriter writer, LogStateWriter::Open(connection));
  return writer.Write(state);
}

absl::Status Upgrade(SqliteConnection& connection, int64_t version) {
  if (version == 0) return MakeTables(connection);
  if (version == 1) {
    ABSL_RETURN_IF_ERROR(MigrateFromVersion1(connection));
  }
  return MigrateFromVersion2(connection);
}

}  // namespace

absl::Status CheckLogFileHeader(const std::string& path) { return CheckDatabaseHeader(path, kSettings.format); }

absl::StatusOr<ExclusiveFile> ClaimLogFile(const std::string& path) {
  absl::StatusOr<ExclusiveFile> file = ExclusiveFile::Claim(path, kCompanions);
  if (!file.ok()) return file;
  ABSL_RETURN_IF_ERROR(RefuseOtherNames(path));
  return file;
}

absl::StatusOr<ExclusiveFile> ClaimLogFileForCopy(const std::string& path) {
  return ExclusiveFile::ClaimForCopy(path, kCompanions);
}

absl::Status SettleLogFile(const std::string& path, Disk& disk) {
  for (const char* suffix : {"", "-wal", "-journal"}) {
    ABSL_RETURN_IF_ERROR(disk.Settle(path + suffix));
  }
  return absl::OkStatus();
}

absl::StatusOr<SqliteConnection> OpenLogFileToWrite(const std::string& path, const std::string& vfs,
                                                    bool synchronous_full) {
  if (sodium_init() < 0) return absl::InternalError("libsodium does not start");
  return DurableFile::Connect(path, vfs, kSettings, synchronous_full, Upgrade);
}

absl::StatusOr<SqliteConnection> OpenLogFileToRead(const std::string& path, const std::string& vfs) {
  absl::StatusOr<SqliteConnection> connection =
      SqliteConnection::Open(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs);
  if (!connection.ok()) return connection;
  ABSL_RETURN_IF_ERROR(SetUntrusting(*connection, kBusyMs));
  // Each reader gets only a small cache, because there can be many readers, and they share the system's page cache.
  absl::Status status = connection->Run("PRAGMA query_only = ON; PRAGMA cache_size = -512");
  if (!status.ok()) return status;
  return connection;
}

}  // namespace stampgate
