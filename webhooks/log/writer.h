// Changes the event log's file: appends, retention, checkpoints. One transaction at a time; it has no threads.
#ifndef STAMPGATE_WEBHOOKS_LOG_WRITER_H_
#define STAMPGATE_WEBHOOKS_LOG_WRITER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/disk/age_clock.h"
#include "webhooks/disk/checkpointer.h"
#include "webhooks/disk/disk.h"
#include "webhooks/disk/mark_file.h"
#include "webhooks/disk/sqlite.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/hole_table.h"
#include "webhooks/log/safeguards.h"
#include "webhooks/log/state.h"
#include "webhooks/verification/event.h"

namespace stampgate {

// After each commit that stored events, it also writes the log's end to a separate file, the high-water mark: recovery
// compares the two to find what a disk has lost. Events after the mark are not visible yet.
//
// One thread at a time. Errors of functions that change the file:
//   kResourceExhausted, kAborted  nothing was changed, and a later call may succeed: the disk is full, or another
//                                 program holds a lock on the file
//   anything else                 the log cannot continue: call nothing more
class LogWriter {
 public:
  // See SqliteEventLogOptions.
  struct Options {
    std::string path;
    Disk* disk = nullptr;
    LogSafeguards safeguards;
    absl::Duration retention_age;
    int64_t retention_bytes = 0;
    absl::Duration deduplication_age;
    int checkpoint_pages = 0;
    std::function<void(absl::Duration)> on_clock_step;
  };

  // Errors: those of OpenLogFileToWrite and MarkFile::Open, and kDataLoss if the file contradicts itself. Reads no
  // event. Until RecoverLog (recovery.h) has run, only AddHole and Mark may be called.
  static absl::StatusOr<std::unique_ptr<LogWriter>> Open(const Options& options, absl::Time now);

  // Makes a hole from the log's end to `end`, which becomes the new end.
  absl::Status AddHole(const EventPlace& end, absl::Time now);

  // Sets the mark to the log's end, unless it is already there.
  absl::Status Mark();

  // Stores the events, in their order, in one transaction. On OK the transaction and its mark are durable, and
  // `outcomes` has one entry for each event. After an error, only those entries are set that are durable nonetheless:
  // repetitions of events that were stored before and that the mark covers.
  absl::Status Store(const std::vector<const Event*>& events, absl::Time now,
                     std::vector<std::optional<AppendOutcome>>* outcomes);

  // Does a bounded part of retention's work. Returns whether it did anything, in which case there may be more to do.
  absl::StatusOr<bool> Trim(absl::Time now);

  // Copies committed pages from the write-ahead log into the database file, if there are enough of them.
  absl::Status Checkpoint();

  // Copies all of them. If that succeeds and no reader is left, the destructor leaves one file.
  absl::Status CheckpointAll();

  // The state as the file holds it.
  const LogRecord& record() const { return record_; }

  // The content of the mark file when it was opened; nothing if it had no mark of this log.
  const std::optional<HighWaterMark>& mark_found() const { return mark_found_; }

  // The last event that is durable and marked. Other threads may read it.
  std::shared_ptr<const std::atomic<Position>> marked() const { return marked_; }

  // The position before the newest events: at most `max_events` of them, with bodies of at most `max_bytes` in all.
  absl::StatusOr<Position> BeforeNewest(int max_events, int64_t max_bytes);

 private:
  explicit LogWriter(const Options& options) : options_(options) {}

  void Age(absl::Time now);
  absl::Status KeepClock();
  absl::StatusOr<Position> LastBeforeHoles(Position position);

  absl::Status Prepare();
  absl::Status Check();
  absl::Status StoreOne(const Event& event, LogRecord* next, std::optional<AppendOutcome>* outcome, bool* durable);
  absl::Status Insert(const Event& event, LogRecord* next);
  absl::Status Reserve();
  absl::Status Abandon(absl::Status why);

  absl::StatusOr<int64_t> Count(SqliteStatement& pragma);
  absl::StatusOr<int64_t> BytesInUse();
  absl::StatusOr<EventPlace> EventsToTrim(int max_rows);
  absl::StatusOr<Position> IdsToForget(int max_rows);
  absl::StatusOr<bool> TrimStep(int max_rows);

  const Options options_;
  std::optional<SqliteConnection> connection_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<MarkFile> mark_file_;
  std::optional<HighWaterMark> mark_found_;
  const std::shared_ptr<std::atomic<Position>> marked_ = std::make_shared<std::atomic<Position>>(0);
  int64_t page_bytes_ = 0;
  int64_t reserved_bytes_ = 0;  // reserved on the disk for the database file
  LogRecord record_;
  AgeClock clock_;  // the record's clock, advanced

  HoleTable holes_;
  LogRecordReader read_record_;
  LogRecordWriter write_record_;
  SqliteStatement begin_;
  SqliteStatement commit_;
  SqliteStatement roll_back_;
  SqliteStatement find_seen_;
  SqliteStatement insert_event_;
  SqliteStatement insert_seen_;
  SqliteStatement page_count_;
  SqliteStatement free_pages_;
  SqliteStatement oldest_events_;
  SqliteStatement delete_events_;
  SqliteStatement oldest_seen_;
  SqliteStatement delete_seen_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_WRITER_H_
