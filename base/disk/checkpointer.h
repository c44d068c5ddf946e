// Copies committed pages from a database's write-ahead log into the database file.
#ifndef STAMPGATE_BASE_DISK_CHECKPOINTER_H_
#define STAMPGATE_BASE_DISK_CHECKPOINTER_H_

#include <sqlite3.h>

#include "absl/status/status.h"
#include "base/disk/sqlite.h"

namespace stampgate {

// Runs the checkpoints of the only connection that writes to a database. Only one thread at a time may use a
// Checkpointer.
//
// A reader, another program's lock or a full disk can prevent a checkpoint from copying all pages. That is not an
// error: the other pages stay in the write-ahead log, and a later checkpoint copies them. The methods return
// only errors after which the database cannot be used (CanGoOn returns false for them). After such an error, write
// nothing more to the database.
class Checkpointer {
 public:
  // `connection` must outlive this object. Run does nothing while the write-ahead log has fewer than `pages` pages.
  // `busy_ms` is the time for which a statement of the connection usually waits for a lock. Each checkpoint changes
  // this time, and restores it at the end.
  Checkpointer(SqliteConnection& connection, int pages, int busy_ms);

  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();

  // If the write-ahead log has at least `pages` pages, copies as many pages as it can now. If overlapping readers have
  // let the log grow to several times `pages`, waits briefly for them. If they finish in this time, the next pages
  // overwrite the log from its beginning.
  absl::Status Run();

  // Copies as many pages as it can now, even if the write-ahead log has few pages.
  absl::Status RunNow();

  // Copies all pages. If the copying succeeds and no other connection is open, closing `connection` deletes the -wal
  // and -shm files.
  absl::Status Finish();

 private:
  absl::Status Move(int mode);

  SqliteConnection& connection_;
  const int pages_;
  const int busy_ms_;
  int wal_pages_ = 0;  // the number of pages in the write-ahead log
  int wait_for_readers_at_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_CHECKPOINTER_H_
