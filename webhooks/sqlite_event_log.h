// The event log in one SQLite file, for one process.
//
// WAL with synchronous=FULL, read back. One thread writes, and commits together what has come in meanwhile; readers
// have connections of their own that cannot write. The file and its companions (-wal, -shm, .lock) have mode 0600: they
// hold what events hold. Every row has a checksum, checked when it is read.
#ifndef STAMPGATE_WEBHOOKS_SQLITE_EVENT_LOG_H_
#define STAMPGATE_WEBHOOKS_SQLITE_EVENT_LOG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/event_log.h"

namespace stampgate {

struct SqliteEventLogOptions {
  std::string path;
  // Events older than this are trimmed.
  absl::Duration retention_age = absl::Hours(24 * 7);
  // The oldest events are trimmed while the file holds more than this.
  int64_t retention_bytes = int64_t{10} << 30;
  // An event id is remembered this long after its event was stored, also when the event itself has been trimmed. Not
  // below retention_age. Of ids whose events are gone, the oldest are forgotten sooner where ids would take more than a
  // quarter of retention_bytes, at 256 bytes each.
  absl::Duration deduplication_age = absl::Hours(24 * 30);
  // How often retention looks when no events come in.
  absl::Duration retention_interval = absl::Seconds(10);
  // What may wait to be written; more is refused.
  size_t max_queued_bytes = 64 << 20;
  std::function<absl::Time()> now;
  // For EventLog::WriteUnderWay.
  std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
  // Called once, from the log's thread, when the log cannot go on: an I/O error or damage. A failed sync is never tried
  // again, because the system may have dropped what it could not write. The process is to end.
  std::function<void(const absl::Status&)> on_fatal;
  // When so many pages wait in the write-ahead log, they are moved to where they belong.
  int checkpoint_pages = 2000;
  // SQLite's VFS; empty for the system's. For tests.
  std::string vfs;
  // For tests that show what it is good for.
  bool synchronous_full = true;
};

// Opens or makes the log. Errors: kFailedPrecondition if another process has it open, if the file is another program's
// or of a newer version, or if its folder does not exist; kUnavailable if it cannot be opened or written; kDataLoss if
// it is damaged.
absl::StatusOr<std::unique_ptr<EventLog>> OpenSqliteEventLog(SqliteEventLogOptions options);

// For tests: returns when all that retention asks for at this moment has been trimmed, or cannot be. `log` comes from
// OpenSqliteEventLog.
void TrimNow(EventLog& log);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_SQLITE_EVENT_LOG_H_
