// The call store in one SQLite file, for one process.
//
// WAL with synchronous=FULL, read back. One thread writes, and commits together what has come in meanwhile. Beside the
// file stand two marks: `<path>-mark`, by which a start sees that the file has lost something, and `<path>-timestamps`.
// All files (also -wal, -shm, .lock) have mode 0600. Every row has a checksum, checked when it is read. A key takes
// about 500 bytes.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_CALL_STORE_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_CALL_STORE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/store/call_store.h"
#include "webhooks/disk/disk.h"

namespace stampgate {

// For metrics.
struct CallStoreState {
  int64_t keys = 0;      // that are kept
  bool failing = false;  // the last write failed
};

struct SqliteCallStoreOptions {
  std::string path;
  Disk* disk = &Disk::System();  // outlives the store
  // A key is kept this long after it took its submit, by a clock that a step of the system's clock does not move
  // (AgeClock).
  absl::Duration key_retention = absl::Hours(24);
  int64_t max_keys = 10'000'000;
  std::function<absl::Time()> now;
  // What may wait to be written; more is refused.
  size_t max_waiting = 16384;
  // How long ends wait to be written together with the next attempt.
  absl::Duration end_delay = absl::Milliseconds(10);
  // How often retention looks when no submits come in.
  absl::Duration tidy_interval = absl::Minutes(1);
  // Called by OpenSqliteCallStore if the file has lost something: then keys that it does not know are refused, and
  // those that it knows are only answered, for key_retention.
  std::function<void(const absl::Status&)> on_loss;
  // Called once, from the store's thread, when the store cannot go on: an I/O error or damage. A failed sync is never
  // tried again, because the system may have dropped what it could not write. The process is to end.
  std::function<void(const absl::Status&)> on_fatal;
  // Called from the store's thread, at its start and when something has changed. Must not block.
  std::function<void(const CallStoreState&)> observe;
  // When so many pages wait in the write-ahead log, they are moved to where they belong.
  int checkpoint_pages = 1000;
  // For tests that show what it is good for.
  bool synchronous_full = true;
};

// Opens or makes the store. Errors: kFailedPrecondition if another process has it open, if the file is another
// program's or of a newer version, or if its folder does not exist; kUnavailable if it cannot be opened or written;
// kDataLoss if it is damaged.
absl::StatusOr<std::unique_ptr<CallStore>> OpenSqliteCallStore(SqliteCallStoreOptions options);

// For tests: returns when retention has done all that there is to do at this moment, or cannot. `store` comes from
// OpenSqliteCallStore.
void TidyNow(CallStore& store);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_CALL_STORE_H_
