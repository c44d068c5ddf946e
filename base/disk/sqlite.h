// C++ classes that own SQLite's connections and statements, and return errors as absl::Status.
#ifndef STAMPGATE_BASE_DISK_SQLITE_H_
#define STAMPGATE_BASE_DISK_SQLITE_H_

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace stampgate {

// Returns the Status for an error code of SQLite:
//   kResourceExhausted   the disk is full or memory is short: a retry may succeed
//   kAborted             another connection holds a lock
//   kDataLoss            the file is damaged
//   kFailedPrecondition  the file is not a database
//   kUnavailable         the file cannot be opened, read, written or synced
//   kInternal            anything else, such as a missing table
// The Status has SQLite's message, which may name tables and columns, but contains no values.
absl::Status SqliteStatus(sqlite3* database, int code);

// Returns whether the database can still be used after `status`: true for OK, and for kResourceExhausted and kAborted,
// after which a retry can succeed.
bool CanGoOn(const absl::Status& status);

// A connection to a database. Only one thread at a time may use the connection or its statements.
class SqliteConnection {
 public:
  // Opens a connection. `flags` are the flags of sqlite3_open_v2. An empty `vfs` means SQLite's default VFS. `path` is
  // a file path, never a URI.
  static absl::StatusOr<SqliteConnection> Open(const std::string& path, int flags, const std::string& vfs);

  // Runs the statements in `sql` and discards their rows.
  absl::Status Run(const char* sql);

  // Runs a statement. Returns the first column of its first row as a number or as text, or kInternal if there is no
  // row.
  absl::StatusOr<int64_t> Number(const char* sql);
  absl::StatusOr<std::string> Text(const char* sql);

  // Returns whether a transaction is open.
  bool in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

  sqlite3* get() const { return database_.get(); }

 private:
  struct Close {
    // sqlite3_close_v2 delays closing until all statements are finalized, so that a class can destroy a connection and
    // its statements in any order.
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  std::unique_ptr<sqlite3, Close> database_;
};

// A prepared statement. Use it in this order: bind parameters, step, read columns, reset. The first parameter is 1, the
// first column is 0.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  static absl::StatusOr<SqliteStatement> Prepare(const SqliteConnection& connection, const char* sql);

  // Sets a parameter. BindText and BindBlob do not copy the bytes, which must stay valid until Reset or the end of Run.
  void Bind(int parameter, int64_t value);
  void BindText(int parameter, absl::string_view text);
  void BindBlob(int parameter, absl::string_view bytes);

  // Steps to the next row. Returns whether there is one. After an error or the last row, call Reset.
  absl::StatusOr<bool> Step();
  // Steps until there are no more rows. Only the last step commits a change, even if the statement returns rows.
  absl::Status Finish();
  // Calls Finish and then Reset.
  absl::Status Run();
  // Prepares the statement for its next use. Also ends the read transaction, unless another statement still reads.
  void Reset();

  int64_t Number(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  // Returns the bytes of a text or blob, which are valid until the next Step or Reset.
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

#endif  // STAMPGATE_BASE_DISK_SQLITE_H_
