// Changes the event log's file: stores events and changes of subscriptions, deletes old events, and runs checkpoints.
#ifndef STAMPGATE_WEBHOOKS_LOG_SQLITE_WRITER_H_
#define STAMPGATE_WEBHOOKS_LOG_SQLITE_WRITER_H_

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
#include "base/disk/age_clock.h"
#include "base/disk/disk.h"
#include "base/disk/durable_file.h"
#include "base/disk/mark_file.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/event_log.h"
#include "webhooks/log/safeguards.h"
#include "webhooks/log/sqlite/event_table.h"
#include "webhooks/log/sqlite/hole_table.h"
#include "webhooks/log/sqlite/subscription_table.h"
#include "webhooks/log/state.h"
#include "webhooks/log/subscription_store.h"
#include "webhooks/verification/event.h"

namespace stampgate {

// What one transaction stores. The pointers must stay valid until it is stored.
struct LogGroup {
  std::vector<const Event*> events;
  std::vector<const SubscriptionChange*> changes;
};

// The outcome of each entry of a LogGroup. An entry without a value is not stored.
struct LogGroupOutcome {
  std::vector<std::optional<AppendOutcome>> events;
  std::vector<std::optional<absl::Status>> changes;  // OK, or kNotFound: see SubscriptionTable::Apply
};

// Changes the file in one transaction at a time, on the calling thread. After each commit that stored events, also
// writes the log's end to a separate file, the high-water mark. Recovery compares the log with the mark to detect lost
// events. Readers do not see events after the mark.
//
// Only one thread at a time may use a LogWriter. Errors of functions that change the file:
//   kResourceExhausted, kAborted  nothing was changed, and a retry may succeed: the disk is full, or another
//                                 program holds a lock on the file
//   any other                     the log cannot continue: do not use this object again
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

  // Opens the file and its mark. Reads no events. Until RecoverLog (recovery.h) has run, do not call any function that
  // changes the file except AddHole and Mark. Errors: those of OpenLogFileToWrite and MarkFile::Open, and kDataLoss if
  // the file's tables contradict each other.
  static absl::StatusOr<std::unique_ptr<LogWriter>> Open(const Options& options, absl::Time now);

  // Records the positions after the log's end, up to `end`, as a hole. `end` becomes the log's new end.
  absl::Status AddHole(const LogPoint& end, absl::Time now);

  // Sets the mark to the log's end. Writes nothing if the mark already has this value.
  absl::Status Mark();

  // Stores the events and the changes in one transaction, each of them in order. If Store returns OK, the disk has the
  // transaction and the new mark, and `outcome` has a value for each entry. After an error, an event has a value only
  // if it repeats a stored event that the mark covers. The changes have values, and the disk has them, only if the
  // transaction was committed and the mark could not be written.
  absl::Status Store(const LogGroup& group, absl::Time now, LogGroupOutcome* outcome);

  // Deletes a limited number of old events or ids. Returns true if Trim deleted an event or an id. In this case, call
  // Trim again, because more events or ids can be due.
  absl::StatusOr<bool> Trim(absl::Time now);

  // Copies committed pages from the write-ahead log into the database file, if the write-ahead log has at least
  // `checkpoint_pages` pages.
  absl::Status Checkpoint();

  // Copies all committed pages. If the copying succeeds and no reader is open, the destructor deletes the write-ahead
  // log.
  absl::Status CheckpointAll();

  // Returns the state row of the file.
  const LogState& state() const { return state_; }

  // Returns the mark that the mark file contained when it was opened, or nothing if the file contained no mark of this
  // log.
  const std::optional<HighWaterMark>& mark_found() const { return mark_found_; }

  // Returns the position of the last event that the disk has and the mark covers. Other threads may read the returned
  // value.
  std::shared_ptr<const std::atomic<Position>> marked() const { return marked_; }

  // Returns a position before the newest events. As many events follow it as possible, but at most `max_events`, and
  // with bodies of at most `max_bytes` in total.
  absl::StatusOr<Position> BeforeNewest(int max_events, int64_t max_bytes);

 private:
  explicit LogWriter(const Options& options) : options_(options) {}

  void Age(absl::Time now);
  absl::Status KeepClock();
  absl::StatusOr<Position> LastBeforeHoles(Position position);

  absl::Status Prepare();
  absl::Status Check();
  absl::Status FindSubscriptions();
  absl::Status Apply(const std::vector<const SubscriptionChange*>& changes,
                     std::vector<std::optional<absl::Status>>* outcomes);
  absl::Status StoreOne(const Event& event, LogState* next, std::optional<AppendOutcome>* outcome, bool* durable);
  absl::Status Insert(const Event& event, LogState* next);
  absl::Status Abandon(const absl::Status& why);

  absl::StatusOr<LogPoint> EventsToTrim(int max_rows);
  absl::StatusOr<Position> IdsToForget(int max_rows);
  absl::StatusOr<bool> TrimStep(int max_rows);

  const Options options_;
  std::unique_ptr<DurableFile> file_;
  std::optional<MarkFile> mark_file_;
  std::optional<HighWaterMark> mark_found_;
  const std::shared_ptr<std::atomic<Position>> marked_ = std::make_shared<std::atomic<Position>>(0);
  LogState state_;
  AgeClock clock_;  // the clock of `state_`, advanced to the current time

  HoleTable holes_;
  EventTable table_;
  std::optional<SubscriptionTable> subscriptions_;  // without a value if the file does not have the tables
  LogStateReader read_record_;
  LogStateWriter write_record_;
  SqliteStatement find_seen_;
  SqliteStatement oldest_events_;
  SqliteStatement delete_events_;
  SqliteStatement oldest_seen_;
  SqliteStatement delete_seen_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_SQLITE_WRITER_H_
