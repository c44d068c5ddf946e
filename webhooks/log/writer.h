// What changes the log's file: storing, retention, checkpoints. One transaction at a time; it knows no threads.
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

// Behind each commit that stored events, the log's end is kept in a file of its own as well, the high-water mark: what
// a disk loses of the log is seen against it when the log is opened again. Until then those events count for nothing.
//
// One thread at a time. Errors of what changes the file:
//   kResourceExhausted, kAborted  nothing was changed, and a later call may succeed: the disk is full, or another
//                                 program holds a lock on the file
//   anything else                 the log cannot go on: nothing more may be called
class LogWriter {
 public:
  // As in SqliteEventLogOptions.
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

  // Errors: those of OpenLogFileToWrite and MarkFile::Open, and kDataLoss if the file contradicts itself. No event is
  // read. Nothing but AddHole and Mark may be called before the log was recovered (log_recovery.h).
  static absl::StatusOr<std::unique_ptr<LogWriter>> Open(const Options& options, absl::Time now);

  // Makes a hole of what is behind the log's end up to `end`, which is its new end.
  absl::Status AddHole(const EventPlace& end, absl::Time now);

  // Replaces the mark by the log's end, unless it is there already.
  absl::Status Mark();

  // Stores the events, in their order, in one transaction that is durable, with its mark, when this returns OK.
  // `outcomes` gets one for each event. After an error only those are set that are durable all the same: repetitions of
  // what was stored before and is not behind the mark.
  absl::Status Store(const std::vector<const Event*>& events, absl::Time now,
                     std::vector<std::optional<AppendOutcome>>* outcomes);

  // Does a bounded part of what retention asks for. Whether it did something: then there may be more.
  absl::StatusOr<bool> Trim(absl::Time now);

  // Moves what has been committed from the write-ahead log to where it belongs, if there is enough of it.
  absl::Status Checkpoint();

  // The same for all of it. If that succeeds and no reader is left, the destructor leaves one file.
  absl::Status CheckpointAll();

  // As the file has it.
  const LogRecord& record() const { return record_; }

  // What the file of the mark held when it was opened; nothing if there was none of this log.
  const std::optional<HighWaterMark>& mark_found() const { return mark_found_; }

  // The last event that is durable with its mark. May be read by other threads.
  std::shared_ptr<const std::atomic<Position>> marked() const { return marked_; }

  // The position behind which the newest events begin: no more than `max_events`, and bodies of no more than
  // `max_bytes`.
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
  int64_t reserved_bytes_ = 0;  // on the disk, for the file
  LogRecord record_;
  AgeClock clock_;  // that of the record, later

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
