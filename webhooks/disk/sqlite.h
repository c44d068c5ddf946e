// SQLite's connections and statements, owned, with errors as absl::Status.
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

// What SQLite says is wrong:
//   kResourceExhausted   no room on the disk, or no memory: the same may succeed later
//   kAborted             somebody else holds a lock
//   kDataLoss            the file is damaged
//   kFailedPrecondition  the file is no database
//   kUnavailable         the file cannot be opened, read, written or synced
//   kInternal            anything else, such as a missing table
// The message is SQLite's: it names tables and columns, never a value.
absl::Status SqliteStatus(sqlite3* database, int code);

// Whether the database can be used on: OK, kResourceExhausted and kAborted, after which the same may succeed later.
bool CanGoOn(const absl::Status& status);

// One connection. One thread at a time, statements included.
class SqliteConnection {
 public:
  // `flags` as for sqlite3_open_v2; `vfs` empty for the system's. The path is taken as it is, never as a URI.
  static absl::StatusOr<SqliteConnection> Open(const std::string& path, int flags, const std::string& vfs);

  // Runs statements that give no rows, or whose rows do not matter.
  absl::Status Run(const char* sql);

  // The first column of the first row, as a number or as text. kInternal if there is none.
  absl::StatusOr<int64_t> Number(const char* sql);
  absl::StatusOr<std::string> Text(const char* sql);

  // Whether a transaction is open.
  bool in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

  sqlite3* get() const { return database_.get(); }

 private:
  struct Close {
    // Waits for statements that are still there, so the order in which members go does not matter.
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  std::unique_ptr<sqlite3, Close> database_;
};

// A prepared statement: bind, step, read, reset. Parameters count from 1, columns from 0.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  static absl::StatusOr<SqliteStatement> Prepare(const SqliteConnection& connection, const char* sql);

  // Bytes are not copied: they stay until Reset, or Run, which resets.
  void Bind(int parameter, int64_t value);
  void BindText(int parameter, absl::string_view text);
  void BindBlob(int parameter, absl::string_view bytes);

  // Whether there is a row. After an error or the last row, Reset.
  absl::StatusOr<bool> Step();
  // Steps to the end. What a statement changes is committed with its last step, also if it has rows.
  absl::Status Finish();
  // The same, and resets.
  absl::Status Run();
  // Also lets go of the read transaction, if nothing else holds it.
  void Reset();

  int64_t Number(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  // Of text or a blob; valid until the next Step or Reset.
  absl::string_view Bytes(int column) const;
  bool IsNull(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Resets a statement at the end of a block, whichever way that ends.
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
