// The event log in one SQLite file, for one process.
//
// Uses WAL with synchronous=FULL, and reads back what it opens. One thread writes; each commit stores all events that
// arrived during the previous one. Readers have their own connections, which cannot write. The file and its companions
// (-wal, -shm, -mark, .lock) have mode 0600, since events hold secrets. Every row has a checksum over itself and the
// row before it; readers check it.
//
// The log never acknowledges what the disk may not have: opening it writes the pages that the system still caches and
// drops them from the cache. Losses of the disk are found by the high-water mark in the -mark file, which is synced
// after each commit and before its acknowledgement. A lost range becomes a hole.
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
  // Retention deletes events that are older than this by the log's own time (AgeClock).
  absl::Duration retention_age = absl::Hours(24 * 7);
  // Retention deletes the oldest events while the file uses more than this.
  int64_t retention_bytes = int64_t{10} << 30;
  // An event id is remembered, within its scope, for this long after its event was stored, also when the event has been
  // deleted. At least retention_age. If remembered ids would use more than a quarter of retention_bytes, at 256 bytes
  // each, the oldest ids without events are forgotten sooner.
  absl::Duration deduplication_age = absl::Hours(24 * 30);
  // How often retention runs when no events arrive.
  absl::Duration retention_interval = absl::Seconds(10);
  // Bound on the queued events; further appends are refused.
  size_t max_queued_bytes = 64 << 20;
  std::function<absl::Time()> now;
  // The clock of EventLog::WriteUnderWay.
  std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
  // Called once, from the log's thread, when the log cannot continue because of an I/O error or damage. A failed sync
  // is never retried, because the system may have dropped the pages that it could not write. The process should end.
  std::function<void(const absl::Status&)> on_fatal;
  // A checkpoint runs when the write-ahead log holds this many pages.
  int checkpoint_pages = 2000;
  // Called by OpenSqliteEventLog for each newly found range of events that the disk has lost or damaged: lost ones by
  // the high-water mark, damaged ones among the newest events. Readers find the others.
  std::function<void(const LostEvents&)> on_loss;
  // Called by OpenSqliteEventLog if there are events but no -mark file. The file is then created again.
  std::function<void()> on_mark_missing;
  // Called from the log's thread when the clock has jumped by more than AgeClock::kMaxStep, forward or back.
  std::function<void(absl::Duration)> on_clock_step;
  // Must outlive the log. Tests replace it.
  Disk* disk = &Disk::System();
  LogSafeguards safeguards;
};

// Opens or creates the event log. Errors: kFailedPrecondition if another process has it open, if the file belongs to
// another program or a newer version, or if its folder does not exist; kUnavailable if it cannot be opened or written;
// kDataLoss if it is damaged.
absl::StatusOr<std::unique_ptr<EventLog>> OpenSqliteEventLog(SqliteEventLogOptions options);

// For tests: returns when retention has deleted everything that is due now, or cannot. `log` comes from
// OpenSqliteEventLog.
void TrimNow(EventLog& log);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_EVENT_LOG_H_
