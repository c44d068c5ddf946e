// An event log in one SQLite file, which only one process may open.
//
// Uses a write-ahead log with synchronous=FULL. One thread writes, and each commit stores the events that arrived
// during the previous commit. Readers have their own connections, which cannot write. All files (including -wal, -shm,
// -mark and .lock) have mode 0600, because events contain secrets. Every row has a checksum, which covers the row and
// the checksum of the previous row. Readers verify this checksum.
//
// The log acknowledges an event only after the disk has it. After a crash, the page cache can differ from the disk.
// When the log is opened, it therefore writes cached pages to the disk and drops them from the cache. After each
// commit, and before it acknowledges the stored events, the log syncs a high-water mark to the -mark file. If the log
// ends before its mark when it is opened, the disk has lost events, and the log records the lost positions as a hole.
//
// The log is also the store of the shared subscriptions to it: the file has their states, and a commit can store events
// and changes of subscriptions. The mark covers only events. If the disk loses changes that it had acknowledged, it
// loses the last ones, with the events that were stored after them, and the log cannot detect the loss of the changes:
// what consumers have settled since is delivered to them again, and what operators have changed since is undone.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_SQLITE_EVENT_LOG_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_SQLITE_EVENT_LOG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/disk/disk.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/safeguards.h"

namespace stampgate {

struct SqliteEventLogOptions {
  std::string path;
  // Retention deletes events whose age exceeds this duration. The log's AgeClock measures the age.
  absl::Duration retention_age = absl::Hours(24 * 7);
  // Retention deletes the oldest events while the file uses more than this number of bytes.
  int64_t retention_bytes = int64_t{10} << 30;
  // For this duration after an event was stored, the log recognizes repetitions of the event, even if retention has
  // deleted the event. Must be at least `retention_age`. If the ids, at 256 bytes each, would use more than a quarter
  // of `retention_bytes`, the log forgets the oldest ids of deleted events sooner.
  absl::Duration deduplication_age = absl::Hours(24 * 30);
  // How often retention runs when no events arrive.
  absl::Duration retention_interval = absl::Seconds(10);
  // Maximum memory of the queued events. The log refuses events that would exceed it.
  size_t max_queued_bytes = 64 << 20;
  // The same for queued changes of subscriptions.
  size_t max_queued_change_bytes = 16 << 20;
  std::function<absl::Time()> now;
  // The clock of EventLog::WriteUnderWay.
  std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
  // Called once, on the log's thread, when the log cannot continue because of an I/O error or damage. A failed sync is
  // never retried, because the system might have dropped the pages that it could not write. After this call, the
  // process should exit.
  std::function<void(const absl::Status&)> on_fatal;
  // A checkpoint runs when the write-ahead log holds this many pages.
  int checkpoint_pages = 2000;
  // Called on the log's thread with the reason when the log can no longer store events, for example because the disk is
  // full, and with OK when it has stored events again. Must not block.
  std::function<void(const absl::Status&)> on_state;
  // Called by OpenSqliteEventLog for each new hole, and for each range of damaged events among the newest events.
  // Readers detect damage of older events.
  std::function<void(const LostEvents&)> on_loss;
  // Called by OpenSqliteEventLog if the log has events, but the -mark file has no mark of this log. In this case,
  // OpenSqliteEventLog writes a new mark.
  std::function<void()> on_mark_missing;
  // Called on the log's thread when the system's clock has jumped by more than AgeClock::kMaxStep, forward or back.
  std::function<void(absl::Duration)> on_clock_step;
  // The disk that stores the files. It must outlive the log. Tests use a simulated disk.
  Disk* disk = &Disk::System();
  LogSafeguards safeguards;
};

// Opens or creates the event log. Errors: kFailedPrecondition if another process has the log open, if the file belongs
// to another program or a newer version, or if the file's folder does not exist; kUnavailable if the file cannot be
// opened or written; kDataLoss if the log is damaged.
absl::StatusOr<std::unique_ptr<EventLog>> OpenSqliteEventLog(SqliteEventLogOptions options);

// For tests: returns after retention has deleted all events and ids that it must delete now, or after the log has
// failed. Requires a `log` from OpenSqliteEventLog.
void TrimNow(EventLog& log);

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_SQLITE_EVENT_LOG_H_
