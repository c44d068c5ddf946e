#include "base/disk/sqlite.h"

#include <cerrno>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"

namespace stampgate {
namespace {

absl::StatusCode StatusCodeOf(int extended_code, int system_error) {
  // SQLite returns SQLITE_FULL only if there is no space for a database page. If there is no space for the -shm file,
  // or a quota is exceeded, SQLite returns an I/O error.
  if (extended_code == SQLITE_IOERR_SHMSIZE || extended_code == SQLITE_IOERR_NOMEM ||
      (extended_code == SQLITE_IOERR_WRITE && (system_error == EDQUOT || system_error == ENOSPC))) {
    return absl::StatusCode::kResourceExhausted;
  }
  switch (extended_code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kAborted;
    case SQLITE_CORRUPT:
    case SQLITE_TOOBIG:  // only a damaged row has a size above SQLite's limit
      return absl::StatusCode::kDataLoss;
    case SQLITE_NOTADB:
      return absl::StatusCode::kFailedPrecondition;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
    case SQLITE_NOLFS:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status SqliteStatus(sqlite3* database, int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return absl::OkStatus();
  if (database == nullptr) return absl::Status(StatusCodeOf(code, 0), sqlite3_errstr(code));
  const int extended_code = sqlite3_extended_errcode(database);
  const int system_error = sqlite3_system_errno(database);
  return absl::Status(StatusCodeOf(extended_code, system_error),
                      absl::StrCat(sqlite3_errmsg(database), " (SQLite's code ", extended_code, ")"));
}

bool CanGoOn(const absl::Status& status) {
  return status.ok() || absl::IsResourceExhausted(status) || absl::IsAborted(status);
}

absl::StatusOr<SqliteConnection> SqliteConnection::Open(const std::string& path, int flags, const std::string& vfs) {
  // Debian's SQLite interprets "file:..." as a URI, and ":memory:" as a database without a file.
  const std::string plain = !path.empty() && path[0] == '/' ? path : absl::StrCat("./", path);
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(plain.c_str(), &database, flags, vfs.empty() ? nullptr : vfs.c_str());
  SqliteConnection connection;
  connection.database_.reset(database);
  if (code != SQLITE_OK) return SqliteStatus(database, code);
  sqlite3_extended_result_codes(database, 1);
  return connection;
}

absl::Status SqliteConnection::Run(const char* sql) {
  return SqliteStatus(get(), sqlite3_exec(get(), sql, nullptr, nullptr, nullptr));
}

absl::StatusOr<int64_t> SqliteConnection::Number(const char* sql) {
  ABSL_ASSIGN_OR_RETURN(SqliteStatement statement, SqliteStatement::Prepare(*this, sql));
  ABSL_ASSIGN_OR_RETURN(bool row, statement.Step());
  if (!row) return absl::InternalError(absl::StrCat("no row: ", sql));
  const int64_t number = statement.Number(0);
  ABSL_RETURN_IF_ERROR(statement.Finish());
  return number;
}

absl::StatusOr<std::string> SqliteConnection::Text(const char* sql) {
  ABSL_ASSIGN_OR_RETURN(SqliteStatement statement, SqliteStatement::Prepare(*this, sql));
  ABSL_ASSIGN_OR_RETURN(bool row, statement.Step());
  if (!row) return absl::InternalError(absl::StrCat("no row: ", sql));
  std::string text(statement.Bytes(0));
  ABSL_RETURN_IF_ERROR(statement.Finish());
  return text;
}

absl::StatusOr<SqliteStatement> SqliteStatement::Prepare(const SqliteConnection& connection, const char* sql) {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(connection.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  SqliteStatement statement;
  statement.statement_.reset(prepared);
  if (code != SQLITE_OK) return SqliteStatus(connection.get(), code);
  return statement;
}

// Binding fails only if the parameter does not exist or the value exceeds a gigabyte. If binding fails, the parameter
// stays NULL, and SQLite refuses the row because of the column's NOT NULL constraint.
void SqliteStatement::Bind(int parameter, int64_t value) { sqlite3_bind_int64(statement_.get(), parameter, value); }

void SqliteStatement::BindText(int parameter, absl::string_view text) {
  // For a null pointer, SQLite would bind NULL instead of an empty text.
  const char* data = text.empty() ? "" : text.data();
  sqlite3_bind_text64(statement_.get(), parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

void SqliteStatement::BindBlob(int parameter, absl::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  sqlite3_bind_blob64(statement_.get(), parameter, data, bytes.size(), SQLITE_STATIC);
}

absl::StatusOr<bool> SqliteStatement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteStatus(sqlite3_db_handle(statement_.get()), code);
}

absl::Status SqliteStatement::Run() {
  SqliteReset reset(*this);
  return Finish();
}

absl::Status SqliteStatement::Finish() {
  for (;;) {
    ABSL_ASSIGN_OR_RETURN(bool row, Step());
    if (!row) return absl::OkStatus();
  }
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

absl::string_view SqliteStatement::Bytes(int column) const {
  // Gets the pointer before the size, because getting the pointer of a number converts it to text.
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? absl::string_view() : absl::string_view(data, static_cast<size_t>(size));
}

}  // namespace stampgate
