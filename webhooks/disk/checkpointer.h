// Moves what was committed from a database's write-ahead log to where it belongs.
#ifndef STAMPGATE_WEBHOOKS_DISK_CHECKPOINTER_H_
#define STAMPGATE_WEBHOOKS_DISK_CHECKPOINTER_H_

#include <sqlite3.h>

#include "absl/status/status.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// For the one connection that writes. One thread at a time.
//
// A reader, a lock of another program or a full disk keeps a checkpoint from moving everything. That is no error: what
// was committed stays where it is, and a later checkpoint moves it. Errors of all calls are those of SqliteStatus that
// CanGoOn does not pass: nothing more may be written then.
class Checkpointer {
 public:
  // `connection` outlives this. Run does something from `pages` pages in the write-ahead log on. `busy_ms` is how long
  // the connection waits for another program's lock outside of checkpoints.
  Checkpointer(SqliteConnection& connection, int pages, int busy_ms);

  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;
  ~Checkpointer();

  // Moves what it can, if there is enough of it. When the log has grown to several times `pages`, because there was
  // always a reader, this waits for readers for a moment, so that the log can start anew.
  absl::Status Run();

  // Moves what it can now, however little that is.
  absl::Status RunNow();

  // Moves everything. If that succeeds and this is the last connection, its end leaves no -wal and no -shm.
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
