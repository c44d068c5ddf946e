// What changes the log's file: storing, retention, checkpoints. One transaction at a time; it knows no threads.
#ifndef STAMPGATE_WEBHOOKS_LOG_WRITER_H_
#define STAMPGATE_WEBHOOKS_LOG_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/event.h"
#include "webhooks/event_log.h"
#include "webhooks/log_record.h"
#include "webhooks/sqlite.h"

namespace stampgate {

// One thread at a time. Errors of what changes the file:
//   kResourceExhausted, kAborted  nothing was changed, and a later call may succeed: the disk is full, or another
//                                 program holds a lock on the file
//   anything else                 the log cannot go on: nothing more may be called
class LogWriter {
 public:
  // As in SqliteEventLogOptions.
  struct Settings {
    std::string path;
    std::string vfs;
    bool synchronous_full = true;
    absl::Duration retention_age;
    int64_t retention_bytes = 0;
    absl::Duration deduplication_age;
    int checkpoint_pages = 0;
  };

  // Errors: those of OpenLogFileToWrite, and kDataLoss if the file contradicts itself. No event is read.
  static absl::StatusOr<std::unique_ptr<LogWriter>> Open(const Settings& settings);

  // Stores the events, in their order, in one transaction that is durable when this returns OK. `outcomes` gets one for
  // each event. After an error only those are set that are durable all the same: repetitions of what was stored before.
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

 private:
  explicit LogWriter(const Settings& settings) : settings_(settings) {}

  absl::Status Prepare();
  absl::Status Check();
  absl::Status StoreOne(const Event& event, LogRecord* next, std::optional<AppendOutcome>* outcome, bool* durable);
  absl::Status Insert(const Event& event, const LogRecord& next);
  absl::Status Reserve();
  absl::Status Abandon(absl::Status why);

  absl::StatusOr<int64_t> Count(SqliteStatement& pragma);
  absl::StatusOr<int64_t> BytesInUse();
  absl::StatusOr<Position> EventsToTrim(absl::Time now, int max_rows);
  absl::StatusOr<Position> IdsToForget(absl::Time now, int max_rows);
  absl::StatusOr<bool> TrimStep(absl::Time now, int max_rows);
  absl::Status RunCheckpoint(int mode);

  const Settings settings_;
  std::optional<SqliteConnection> connection_;
  int64_t page_bytes_ = 0;
  int64_t reserved_bytes_ = 0;  // on the disk, for the file
  LogRecord record_;
  int wal_pages_ = 0;  // in the write-ahead log
  int wait_for_readers_at_ = 0;

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
