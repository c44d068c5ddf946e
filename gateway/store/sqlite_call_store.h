// The call store in one SQLite file, for one process.
//
// Uses WAL with synchronous=FULL, and reads back what it opens. One thread writes; each commit includes all steps that
// arrived during the previous one. There are two marks beside the file: `<path>-mark`, by which a start detects that
// the file has lost something, and `<path>-timestamps`. All files (also -wal, -shm, .lock) have mode 0600. Every row
// has a checksum, which each read checks. A key uses about 500 bytes.
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
  int64_t keys = 0;      // number of stored keys
  bool failing = false;  // whether the last write failed
};

struct SqliteCallStoreOptions {
  std::string path;
  Disk* disk = &Disk::System();  // must outlive the store
  // How long a key is kept after it got its submit, by a clock that does not follow steps of the system's clock
  // (AgeClock).
  absl::Duration key_retention = absl::Hours(24);
  int64_t max_keys = 10'000'000;
  std::function<absl::Time()> now;
  // Bound on the queued steps; further ones are refused.
  size_t max_waiting = 16384;
  // How long ends wait to be written together with the next attempt.
  absl::Duration end_delay = absl::Milliseconds(10);
  // How often retention runs when no submits arrive.
  absl::Duration tidy_interval = absl::Minutes(1);
  // Called by OpenSqliteCallStore if the file has lost something. For key_retention, the store then refuses keys that
  // it does not have, and only returns records of those that it has.
  std::function<void(const absl::Status&)> on_loss;
  // Called once, from the store's thread, when the store cannot continue because of an I/O error or damage. A failed
  // sync is never retried, because the system may have dropped the pages that it could not write. The process should
  // end.
  std::function<void(const absl::Status&)> on_fatal;
  // Called from the store's thread, at its start and after each change. Must not block.
  std::function<void(const CallStoreState&)> observe;
  // A checkpoint runs when the write-ahead log holds this many pages.
  int checkpoint_pages = 1000;
  // Only tests turn this off, to prove its effect.
  bool synchronous_full = true;
};

// Opens or creates the store. Errors: kFailedPrecondition if another process has it open, if the file belongs to
// another program or a newer version, or if its folder does not exist; kUnavailable if it cannot be opened or written;
// kDataLoss if it is damaged.
absl::StatusOr<std::unique_ptr<CallStore>> OpenSqliteCallStore(SqliteCallStoreOptions options);

// For tests: returns when retention has nothing more to do now, or cannot continue. `store` comes from
// OpenSqliteCallStore.
void TidyNow(CallStore& store);

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_CALL_STORE_H_
