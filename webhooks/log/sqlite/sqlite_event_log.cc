#include "webhooks/log/sqlite/sqlite_event_log.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/sqlite.h"
#include "base/threads/commit_thread.h"
#include "base/threads/mutex.h"
#include "webhooks/log/change_queue.h"
#include "webhooks/log/event_queue.h"
#include "webhooks/log/sqlite/reader.h"
#include "webhooks/log/sqlite/recovery.h"
#include "webhooks/log/sqlite/schema.h"
#include "webhooks/log/sqlite/subscription_table.h"
#include "webhooks/log/sqlite/writer.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {
namespace {

// The upper limit of max_queued_bytes and max_queued_change_bytes, and therefore of the size of one event and of one
// change, because SQLite limits the size of a row.
constexpr size_t kMaxQueuedBytes = 512 << 20;
// The upper limit of retention_interval, because the AgeClock must advance often.
constexpr absl::Duration kMaxInterval = absl::Minutes(30);
// How long an event waits for further ones, if the previous batch had several. A commit costs more CPU time than all
// other steps of an event but the verification, so under load it should cover many events.
constexpr std::chrono::microseconds kGather(500);

// Returns the error for a failure to read the subscriptions. A missing table (kInternal) means damage.
absl::Status CannotLoad(const absl::Status& why) {
  const bool damaged = absl::IsDataLoss(why) || absl::IsInternal(why);
  return absl::Status(damaged ? absl::StatusCode::kDataLoss : absl::StatusCode::kUnavailable,
                      absl::StrCat("the subscriptions cannot be read: ", why.message()));
}

class SqliteEventLog final : public EventLog, public SubscriptionStore, private CommitThread::Owner {
 public:
  SqliteEventLog(SqliteEventLogOptions options, std::optional<ExclusiveFile> file, std::unique_ptr<LogWriter> writer)
      : options_(std::move(options)),
        file_(std::move(file)),
        identity_(writer->state().identity),
        reported_(*writer->marked()),
        marked_(writer->marked()),
        writer_(std::move(writer)),
        thread_({.thread_name = "event-log",
                 .subject = "the event log",
                 .medium = "the event log's disk",
                 .gather = kGather,
                 .steady_now = options_.steady_now},
                *this),
        queue_(options_.max_queued_bytes),
        changes_(options_.max_queued_change_bytes) {
    thread_.Start();
  }

  ~SqliteEventLog() override { Close(); }

  void Append(VerifiedEvent event, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) override {
    WaitingEvent waiting{std::move(event), std::move(done)};
    const absl::Status refusal =
        thread_.Add([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) { return queue_.Push(waiting); });
    if (!refusal.ok()) waiting.done(refusal);
  }

  SubscriptionStore* subscriptions() override { return this; }

  absl::StatusOr<SubscriptionStates> Load() override {
    absl::StatusOr<SubscriptionStates> states = ReadSubscriptions();
    if (!states.ok()) return CannotLoad(states.status());
    return states;
  }

  void Write(SubscriptionChange change, absl::AnyInvocable<void(absl::Status)> done) override {
    WaitingChange waiting{std::move(change), std::move(done)};
    const absl::Status refusal =
        thread_.Add([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) { return changes_.Push(waiting); });
    if (!refusal.ok()) waiting.done(refusal);
  }

  void SetOnGrowth(std::function<void(Position latest)> on_growth) override {
    const MutexLock lock(thread_.mutex());
    on_growth_ = std::move(on_growth);
  }

  absl::StatusOr<std::unique_ptr<EventReader>> NewReader() override {
    return LogReader::Open(options_.path, options_.disk->vfs(), marked_);
  }

  const LogIdentity& identity() const override { return identity_; }

  absl::Duration WriteUnderWay() const override { return thread_.under_way(); }

  void Close() override { thread_.Close(); }

  void TrimNow() { thread_.TidyNow(); }

 private:
  CommitThread::Clock::time_point WriteAt() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
    return queue_.empty() && changes_.empty() ? CommitThread::kNever : CommitThread::kAtOnce;
  }

  CommitThread::Clock::time_point SleepUntil() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
    return CommitThread::After(options_.retention_interval);
  }

  size_t TakeGroup() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
    group_ = {queue_.TakeBatch(), changes_.TakeBatch()};
    return group_.events.size() + group_.changes.size();
  }

  absl::Status WriteGroup() override {
    Group group = std::exchange(group_, {});
    return group.events.empty() && group.changes.empty() ? absl::OkStatus() : Store(std::move(group));
  }

  absl::StatusOr<bool> Tidy(bool wanted) override {
    const absl::StatusOr<bool> trimmed = writer_->Trim(options_.now());
    ReportGrowth();  // Trim writes the mark of an earlier commit if the disk had no space for it
    // If the disk is full or locked, the log tries again when an event arrives or after `retention_interval`.
    if (!trimmed.ok() && CanGoOn(trimmed.status())) return false;
    if (trimmed.ok() && *trimmed) {
      ABSL_RETURN_IF_ERROR(writer_->Checkpoint());
    }
    return trimmed;
  }

  void Stop(absl::Status status) override {
    if (status.ok()) status = writer_->CheckpointAll();
    if (!status.ok()) Fail(status);
    writer_ = nullptr;
  }

  // The entries that one transaction stores.
  struct Group {
    std::vector<WaitingEvent> events;
    std::vector<WaitingChange> changes;
  };

  absl::StatusOr<SubscriptionStates> ReadSubscriptions() const {
    ABSL_ASSIGN_OR_RETURN(SqliteConnection connection, OpenLogFileToRead(options_.path, options_.disk->vfs()));
    // With a transaction, all tables are of one moment.
    ABSL_RETURN_IF_ERROR(connection.Run("BEGIN"));
    return LoadSubscriptions(connection, identity_);
  }

  // Returns an error only if the event log cannot continue.
  absl::Status Store(Group group) {
    LogGroup entries;
    entries.events.reserve(group.events.size());
    entries.changes.reserve(group.changes.size());
    for (const WaitingEvent& waiting : group.events) entries.events.push_back(&*waiting.event);
    for (const WaitingChange& waiting : group.changes) entries.changes.push_back(&waiting.change);
    LogGroupOutcome outcome;
    const absl::Status status = writer_->Store(entries, options_.now(), &outcome);
    const bool can_go_on = CanGoOn(status);
    // Before any callback runs, so that the log accepts no entry after a callback has received the error.
    if (!can_go_on) thread_.Refuse(CannotStore(status));
    ReportState(status);
    // Reports the growth before the acknowledgements, as SetOnGrowth requires.
    if (can_go_on) ReportGrowth();
    {
      const MutexLock lock(thread_.mutex());
      queue_.Release(group.events);
      changes_.Release(group.changes);
    }
    for (size_t i = 0; i < group.events.size(); ++i) {
      WaitingEvent& waiting = group.events[i];
      if (can_go_on && outcome.events[i]) {
        Finish(waiting, *outcome.events[i]);
      } else {
        Finish(waiting, CannotStore(status));
      }
    }
    for (size_t i = 0; i < group.changes.size(); ++i) {
      group.changes[i].done(outcome.changes[i] ? *outcome.changes[i] : CannotStore(status));
    }
    return can_go_on ? writer_->Checkpoint() : status;
  }

  // `status` is the result of an attempt to store a group.
  void ReportState(const absl::Status& status) {
    if (std::exchange(failing_, !status.ok()) != status.ok() || !options_.on_state) return;
    options_.on_state(status);
  }

  void ReportGrowth() {
    const Position latest = *marked_;
    if (latest == reported_) return;
    reported_ = latest;
    if (on_growth_) on_growth_(latest);
  }

  void Fail(const absl::Status& status) {
    Group waiting;
    thread_.Refuse(CannotStore(status));
    {
      const MutexLock lock(thread_.mutex());
      waiting = {queue_.TakeAll(), changes_.TakeAll()};
    }
    for (WaitingEvent& event : waiting.events) Finish(event, CannotStore(status));
    for (WaitingChange& change : waiting.changes) change.done(CannotStore(status));
    if (options_.on_fatal) options_.on_fatal(status);
  }

  const SqliteEventLogOptions options_;
  const std::optional<ExclusiveFile> file_;
  const LogIdentity identity_;
  Position reported_;  // the last position that was passed to on_growth_; used only by the event log's thread
  const std::shared_ptr<const std::atomic<Position>> marked_;
  std::unique_ptr<LogWriter> writer_;  // used only by the event log's thread
  Group group_;                        // used only by the event log's thread
  bool failing_ = false;               // the last state that on_state received; used only by the event log's thread
  std::function<void(Position)> on_growth_;  // after the first Append, used only by the event log's thread

  CommitThread thread_;
  EventQueue queue_ ABSL_GUARDED_BY(thread_.mutex());
  ChangeQueue changes_ ABSL_GUARDED_BY(thread_.mutex());
};

absl::StatusOr<std::unique_ptr<EventLog>> Open(SqliteEventLogOptions options) {
  std::optional<ExclusiveFile> file;
  if (options.disk == &Disk::System()) {
    ABSL_ASSIGN_OR_RETURN(ExclusiveFile claimed, ClaimLogFile(options.path));
    file = std::move(claimed);
  }
  ABSL_RETURN_IF_ERROR(SettleLogFile(options.path, *options.disk));
  options.max_queued_bytes = std::min(options.max_queued_bytes, kMaxQueuedBytes);
  options.max_queued_change_bytes = std::min(options.max_queued_change_bytes, kMaxQueuedBytes);
  options.retention_interval = std::min(options.retention_interval, kMaxInterval);
  LogWriter::Options settings;
  settings.path = options.path;
  settings.disk = options.disk;
  settings.safeguards = options.safeguards;
  settings.on_clock_step = options.on_clock_step;
  settings.retention_age = options.retention_age;
  settings.retention_bytes = options.retention_bytes;
  settings.deduplication_age = std::max(options.deduplication_age, options.retention_age);
  settings.checkpoint_pages = options.checkpoint_pages;
  const absl::Time now = options.now();
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<LogWriter> writer, LogWriter::Open(settings, now));
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<LogReader> reader,
                        LogReader::Open(options.path, options.disk->vfs(), /*visible=*/nullptr));
  if (absl::Status status =
          RecoverLog(options.safeguards, {options.on_loss, options.on_mark_missing}, now, *reader, *writer);
      !status.ok()) {
    return status;
  }
  return std::make_unique<SqliteEventLog>(std::move(options), std::move(file), std::move(writer));
}

}  // namespace

absl::StatusOr<std::unique_ptr<EventLog>> OpenSqliteEventLog(SqliteEventLogOptions options) {
  const std::string path = options.path;
  absl::StatusOr<std::unique_ptr<EventLog>> log = Open(std::move(options));
  if (log.ok()) return log;
  absl::StatusCode code = log.status().code();
  // A missing table (kInternal) means that the log is damaged. Other failures can be temporary.
  if (code == absl::StatusCode::kInternal) code = absl::StatusCode::kDataLoss;
  if (code != absl::StatusCode::kFailedPrecondition && code != absl::StatusCode::kDataLoss) {
    code = absl::StatusCode::kUnavailable;
  }
  return absl::Status(code, absl::StrCat("event log ", path, ": ", log.status().message()));
}

void TrimNow(EventLog& log) { static_cast<SqliteEventLog&>(log).TrimNow(); }

}  // namespace stampgate
