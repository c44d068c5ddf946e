// A call store in one SQLite file, which only one process may open.
//
// Uses a write-ahead log with synchronous=FULL. One thread writes, and each commit includes the steps that arrived
// during the previous commit. Two mark files lie beside the database: `<path>-mark` lets a start detect that the
// database has lost commits, and `<path>-timestamps` holds the bound of the timestamps. All files (also -wal, -shm,
// .lock) have mode 0600. Every row has a checksum, which is verified whenever the row is read. A key uses about 500
// bytes of disk.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_SQLITE_CALL_STORE_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_SQLITE_CALL_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/disk/disk.h"
#include "gateway/store/call_store.h"
#include "gateway/store/queued_call_store.h"

namespace stampgate {

struct SqliteCallStoreOptions {
  std::string path;
  Disk* disk = &Disk::System();  // must outlive the store
  // The retention time: how long a key is kept after its submit was stored. The store measures this time with an
  // AgeClock, which does not follow jumps of the system's clock.
  absl::Duration key_retention = absl::Hours(24);
  int64_t max_keys = 10'000'000;
  std::function<absl::Time()> now;
  CallQueueOptions queue;
  // OpenSqliteCallStore calls this function if the file has lost data. For `key_retention` after such a loss is
  // detected, the store refuses keys that it does not have, and begins no attempt for keys that it has.
  std::function<void(const absl::Status&)> on_loss;
  // A checkpoint runs when the write-ahead log has at least this many pages.
  int checkpoint_pages = 1000;
  // Only tests set this to false. They prove that power cuts lose data without synchronous=FULL.
  bool synchronous_full = true;
};

// Opens or creates the store. Errors: kFailedPrecondition if another process has the store open, if the file belongs to
// another program or a newer version, or if the folder of the file does not exist; kUnavailable if the store cannot be
// opened or written; kDataLoss if the store is damaged.
absl::StatusOr<std::unique_ptr<CallStore>> OpenSqliteCallStore(SqliteCallStoreOptions options);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_SQLITE_CALL_STORE_H_
