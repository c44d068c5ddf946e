// An event log in one SQLite file, which only one process may open.
//
// Uses a write-ahead log with synchronous=FULL. One thread writes, and each commit stores the events that arrived
// during the previous commit. Readers have their own connections, which cannot write. All files (also -wal, -shm,
// -mark, .lock) have mode 0600, because events contain secrets. Every row has a checksum, which covers the row and the
// checksum of the previous row. Readers verify it.
//
// The log acknowledges an event only after the disk has it. After a crash, the page cache may differ from the disk.
// Opening the log therefore writes cached pages to the disk and drops them from the cache. After each commit and before
// its acknowledgement, the log syncs a high-water mark to the -mark file. If the log ends before its mark when it is
// opened, the disk has lost events, and the log records the lost positions as a hole.
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
  // Retention deletes events that are older than this. Measured with the log's AgeClock.
  absl::Duration retention_age = absl::Hours(24 * 7);
  // Retention deletes the oldest events while the file uses more than this.
  int64_t retention_bytes = int64_t{10} << 30;
  // How long the log recognizes repetitions of an event after it was stored, also after retention has deleted the
  // event. At least retention_age. If the ids, at 256 bytes each, would use more than a quarter of retention_bytes, the
  // log forgets the oldest ids of deleted events sooner.
  absl::Duration deduplication_age = absl::Hours(24 * 30);
  // How often retention runs when no events arrive.
  absl::Duration retention_interval = absl::Seconds(10);
  // Maximum memory of the queued events; the log refuses more.
  size_t max_queued_bytes = 64 << 20;
  std::function<absl::Time()> now;
  // The clock of EventLog::WriteUnderWay.
  std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
  // Called once, on the log's thread, when the log cannot continue because of an I/O error or damage. A failed sync is
  // never retried, because the system may have dropped the pages that it could not write. The process should end.
  std::function<void(const absl::Status&)> on_fatal;
  // A checkpoint runs when the write-ahead log holds this many pages.
  int checkpoint_pages = 2000;
  // Called by OpenSqliteEventLog for each newly found range of events that are lost (see the high-water mark), and of
  // damaged events among the newest. Readers detect damage of older events.
  std::function<void(const LostEvents&)> on_loss;
  // Called by OpenSqliteEventLog if there are events but no mark of this log. OpenSqliteEventLog then writes a new
  // mark.
  std::function<void()> on_mark_missing;
  // Called on the log's thread when the system's clock has jumped by more than AgeClock::kMaxStep, forward or back.
  std::function<void(absl::Duration)> on_clock_step;
  // Must outlive the log. Tests use another disk.
  Disk* disk = &Disk::System();
  LogSafeguards safeguards;
};

// Opens or creates the event log. Errors: kFailedPrecondition if another process has it open, if the file belongs to
// another program or a newer version, or if its folder does not exist; kUnavailable if it cannot be opened or written;
// kDataLoss if it is damaged.
absl::StatusOr<std::unique_ptr<EventLog>> OpenSqliteEventLog(SqliteEventLogOptions options);

// For tests: returns when retention has deleted all events and ids that it must delete now, or the log has failed.
// Requires a `log` from OpenSqliteEventLog.
void TrimNow(EventLog& log);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_EVENT_LOG_H_
