// A SQLite file in WAL mode with one connection that writes: transactions that survive a full disk and a power cut.
#ifndef STAMPGATE_BASE_DISK_DURABLE_FILE_H_
#define STAMPGATE_BASE_DISK_DURABLE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/disk/checkpointer.h"
#include "base/disk/database_settings.h"
#include "base/disk/sqlite.h"

namespace stampgate {

// The connection and its transactions. The owner writes the rows. Only one thread at a time may use this object.
//
// If a commit returns OK, the disk has the transaction. After kResourceExhausted or kAborted, the disk is full or
// another program holds a lock: call Abandon, which finds out whether a retry can succeed. After any other error, do
// not use this object again.
class DurableFile {
 public:
  struct Settings {
    DatabaseFormat format;
    int busy_ms = 0;  // how long a statement waits for another program's lock
    // Whether SQLite overwrites deleted rows, which can contain secrets.
    bool secure_delete = false;
  };

  // Opens the connection that writes to the file and runs checkpoints. If the file is empty, or has a lower version
  // than `settings.format`, calls `upgrade` with its version, 0 for an empty file, in a transaction that then sets the
  // version. A later version, up to the newest of the format, remains. Changes the file only after it has verified that
  // the file is empty or has the format. For `vfs`, see SqliteConnection::Open; for `synchronous_full`, see SetDurable.
  //
  // Errors: kFailedPrecondition if the file belongs to another program or a newer version; those of `upgrade` and of
  // SqliteStatus. They roll the transaction back.
  static absl::StatusOr<SqliteConnection> Connect(
      const std::string& path, const std::string& vfs, const Settings& settings, bool synchronous_full,
      absl::FunctionRef<absl::Status(SqliteConnection& connection, int64_t version)> upgrade);

  // Takes over a connection that Connect has opened. `busy_ms` is that of its settings. For `checkpoint_pages`, see
  // Checkpointer. Errors: those of SqliteStatus.
  static absl::StatusOr<std::unique_ptr<DurableFile>> Create(SqliteConnection connection, int checkpoint_pages,
                                                             int busy_ms);

  SqliteConnection& connection() { return connection_; }
  Checkpointer& checkpointer() { return checkpointer_; }

  absl::Status Begin() { return begin_.Run(); }
  absl::Status Commit() { return commit_.Run(); }
  absl::Status RollBack() { return roll_back_.Run(); }

  // Reserves space in the database file for every page of the open transaction. With this space, a checkpoint can copy
  // all pages even if the disk is full. After such a checkpoint, later transactions, also those that delete, can
  // overwrite the write-ahead log from its beginning.
  absl::Status Reserve();

  // Rolls back a transaction that failed with `why`. Returns `why` if the file can be used further. The commit might
  // have taken effect despite the error, so `reread` then reads the file, and returns an error if the owner cannot
  // continue with what it finds.
  absl::Status Abandon(const absl::Status& why, absl::FunctionRef<absl::Status()> reread);

  // Returns the bytes of the file's pages that are in use.
  absl::StatusOr<int64_t> BytesInUse();

 private:
  DurableFile(SqliteConnection connection, int checkpoint_pages, int busy_ms)
      : connection_(std::move(connection)), checkpointer_(connection_, checkpoint_pages, busy_ms) {}

  static absl::StatusOr<int64_t> Count(SqliteStatement& pragma);

  SqliteConnection connection_;
  Checkpointer checkpointer_;
  int64_t page_bytes_ = 0;
  int64_t reserved_bytes_ = 0;  // the size that is reserved for the database file
  SqliteStatement begin_;
  SqliteStatement commit_;
  SqliteStatement roll_back_;
  SqliteStatement page_count_;
  SqliteStatement free_pages_;
};

// Calls `step`, which deletes at most `max_rows` rows and returns whether it has deleted any. While the disk is full,
// calls it again with fewer rows, because there can still be space for a smaller transaction.
absl::StatusOr<bool> DeleteInSmallerSteps(int max_rows, absl::FunctionRef<absl::StatusOr<bool>(int max_rows)> step);

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_DURABLE_FILE_H_
