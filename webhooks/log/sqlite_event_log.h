// The event log in one SQLite file, for one process.
//
// WAL with synchronous=FULL, read back. One thread writes, and commits together what has come in meanwhile; readers
// have connections of their own that cannot write. The file and its companions (-wal, -shm, -mark, .lock) have mode
// 0600: they hold what events hold. Every row has a checksum over itself and the row before it, checked when it is
// read.
//
// Nothing is answered from what the disk may not have: when the log is opened, what the system still keeps of it in
// memory is written and dropped. What the disk has lost shows against the high-water mark in the -mark file, which is
// synced behind each commit and before the commit is acknowledged: the lost range becomes a hole.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_EVENT_LOG_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_EVENT_LOG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/disk/disk.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/safeguards.h"

namespace stampgate {

struct SqliteEventLogOptions {
  std::string path;
  // Events older than this are trimmed, by the log's own time (AgeClock).
  absl::Duration retention_age = absl::Hours(24 * 7);
  // The oldest events are trimmed while the file holds more than this.
  int64_t retention_bytes = int64_t{10} << 30;
  // An event id is remembered, within its scope, this long after its event was stored, also when the event itself has
  // been trimmed. Not below retention_age. Of ids whose events are gone, the oldest are forgotten sooner where ids
  // would take more than a quarter of retention_bytes, at 256 bytes each.
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
  // Called by OpenSqliteEventLog for each range of events that the disk has lost or damaged, as far as that is newly
  // found: those that are gone, by comparing the log with its high-water mark, and of the newest events the damaged
  // ones. Readers find the others.
  std::function<void(const LostEvents&)> on_loss;
  // Called by OpenSqliteEventLog if the log has events and its -mark file is not there. It is made anew.
  std::function<void()> on_mark_missing;
  // Called from the log's thread when the clock has jumped by more than AgeClock::kMaxStep, forward or back.
  std::function<void(absl::Duration)> on_clock_step;
  // Outlives the log. Another one than the system's is for tests.
  Disk* disk = &Disk::System();
  LogSafeguards safeguards;
};

// Opens or makes the log. Errors: kFailedPrecondition if another process has it open, if the file is another program's
// or of a newer version, or if its folder does not exist; kUnavailable if it cannot be opened or written; kDataLoss if
// it is damaged.
absl::StatusOr<std::unique_ptr<EventLog>> OpenSqliteEventLog(SqliteEventLogOptions options);

// For tests: returns when all that retention asks for at this moment has been trimmed, or cannot be. `log` comes from
// OpenSqliteEventLog.
void TrimNow(EventLog& log);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_EVENT_LOG_H_
