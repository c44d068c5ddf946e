// Copies committed pages from a database's write-ahead log into the database file.
#ifndef STAMPGATE_WEBHOOKS_DISK_CHECKPOINTER_H_
#define STAMPGATE_WEBHOOKS_DISK_CHECKPOINTER_H_

#include <sqlite3.h>

#include "absl/status/status.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// For the one connection that writes. One thread at a time.
//
// A reader, another program's lock or a full disk can keep a checkpoint from copying everything. That is not an error:
// the pages stay in the write-ahead log, and a later checkpoint copies them. Errors are those of SqliteStatus for which
// CanGoOn is false; write nothing more after one.
class Checkpointer {
 public:
  // `connection` must outlive this. Run does nothing while the write-ahead log has fewer than `pages` pages. `busy_ms`
  // is how long the connection waits for another program's lock outside of checkpoints.
  Checkpointer(SqliteConnection& connection, int pages, int busy_ms);

  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();

  // Copies what it can, if there are enough pages. If overlapping readers have let the write-ahead log grow to several
  // times `pages`, it waits briefly for readers, so that the write-ahead log can restart.
  absl::Status Run();

  // Copies what it can now, whatever the number of pages.
  absl::Status RunNow();

  // Copies everything. If that succeeds and this is the last connection, closing it leaves no -wal and no -shm file.
  absl::Status Finish();

 private:
  absl::Status Move(int mode);

  SqliteConnection& connection_;
  const int pages_;
  const int busy_ms_;
  int wal_pages_ = 0;  // in the write-ahead log
  int wait_for_readers_at_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_CHECKPOINTER_H_
