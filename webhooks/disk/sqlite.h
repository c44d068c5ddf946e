// Owning wrappers of SQLite's connections and statements, with errors as absl::Status.
#ifndef STAMPGATE_WEBHOOKS_DISK_SQLITE_H_
#define STAMPGATE_WEBHOOKS_DISK_SQLITE_H_

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// The Status of an error code of SQLite:
//   kResourceExhausted   the disk is full or memory is short: a retry may succeed
//   kAborted             another connection holds a lock
//   kDataLoss            the file is damaged
//   kFailedPrecondition  the file is not a database
//   kUnavailable         the file cannot be opened, read, written or synced
//   kInternal            anything else, such as a missing table
// The message is SQLite's: it names tables and columns, never values.
absl::Status SqliteStatus(sqlite3* database, int code);

// Whether the database can still be used: OK, kResourceExhausted and kAborted, after which a retry may succeed.
bool CanGoOn(const absl::Status& status);

// One connection. One thread at a time, including its statements.
class SqliteConnection {
 public:
  // `flags` as for sqlite3_open_v2; `vfs` is empty for the system's. The path is never interpreted as a URI.
  static absl::StatusOr<SqliteConnection> Open(const std::string& path, int flags, const std::string& vfs);

  // Runs statements and discards their rows.
  absl::Status Run(const char* sql);

  // The first column of the first row, as a number or as text. kInternal if there is no row.
  absl::StatusOr<int64_t> Number(const char* sql);
  absl::StatusOr<std::string> Text(const char* sql);

  // Whether a transaction is open.
  bool in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

  sqlite3* get() const { return database_.get(); }

 private:
  struct Close {
    // Closing waits for open statements, so members may be destroyed in any order.
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  std::unique_ptr<sqlite3, Close> database_;
};

// A prepared statement: bind, step, read, reset. Parameters count from 1, columns from 0.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  static absl::StatusOr<SqliteStatement> Prepare(const SqliteConnection& connection, const char* sql);

  // Bytes are not copied: they must stay valid until Reset, or until Run, which resets.
  void Bind(int parameter, int64_t value);
  void BindText(int parameter, absl::string_view text);
  void BindBlob(int parameter, absl::string_view bytes);

  // Returns whether there is a row. After an error or the last row, call Reset.
  absl::StatusOr<bool> Step();
  // Steps to the end. A change is committed by the last step, also if the statement returns rows.
  absl::Status Finish();
  // Finish, then Reset.
  absl::Status Run();
  // Also ends the read transaction, unless another statement holds it.
  void Reset();

  int64_t Number(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  // The bytes of a text or blob; valid until the next Step or Reset.
  absl::string_view Bytes(int column) const;
  bool IsNull(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Resets a statement when the block ends.
class SqliteReset {
 public:
  explicit SqliteReset(SqliteStatement& statement) : statement_(statement) {}
  ~SqliteReset() { statement_.Reset(); }

  SqliteReset(const SqliteReset&) = delete;
  SqliteReset& operator=(const SqliteReset&) = delete;

 private:
  SqliteStatement& statement_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_SQLITE_H_
