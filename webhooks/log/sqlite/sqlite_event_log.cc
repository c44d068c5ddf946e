#include "webhooks/log/sqlite/sqlite_event_log.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/disk/exclusive_file.h"
#include "base/threads/start_thread.h"
#include "base/threads/wait_clock.h"
#include "webhooks/log/event_queue.h"
#include "webhooks/log/sqlite/reader.h"
#include "webhooks/log/sqlite/recovery.h"
#include "webhooks/log/sqlite/schema.h"
#include "webhooks/log/sqlite/writer.h"

namespace stampgate {
namespace {

// The upper limit of max_queued_bytes, and therefore of the size of one event, because SQLite limits the size of a row.
constexpr size_t kMaxQueuedBytes = 512 << 20;
// The upper limit of retention_interval, because the AgeClock must advance often.
constexpr absl::Duration kMaxInterval = absl::Minutes(30);
// How long an event waits for further ones, if the previous batch had several. A commit costs more CPU time than all
// other steps of an event but the verification, so under load it should cover many events.
constexpr std::chrono::microseconds kGather(500);

class SqliteEventLog final : public EventLog {
 public:
  SqliteEventLog(SqliteEventLogOptions options, std::optional<ExclusiveFile> file, std::unique_ptr<LogWriter> writer)
      : options_(std::move(options)),
        file_(std::move(file)),
        identity_(writer->state().identity),
        reported_(*writer->marked()),
        marked_(writer->marked()),
        writer_(std::move(writer)),
        wait_(options_.steady_now),
        queue_(options_.max_queued_bytes) {
    thread_ = StartThread("event-log", [this] { Run(); });
  }

  ~SqliteEventLog() override { Close(); }

  void Append(VerifiedEvent event, absl::AnyInvocable<void(absl::StatusOr<AppendOutcome>)> done) override {
    WaitingEvent waiting{std::move(event), std::move(done)};
    if (absl::Status refusal = Enqueue(waiting); !refusal.ok()) waiting.done(refusal);
  }

  void SetOnGrowth(std::function<void(Position latest)> on_growth) override {
    std::lock_guard lock(mutex_);
    on_growth_ = std::move(on_growth);
  }

  absl::StatusOr<std::unique_ptr<EventReader>> NewReader() override {
    return LogReader::Open(options_.path, options_.disk->vfs(), marked_);
  }

  const LogIdentity& identity() const override { return identity_; }

  absl::Duration WriteUnderWay() const override { return wait_.under_way(); }

  void Close() override {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_one();
    std::call_once(joined_, [this] { thread_.join(); });
  }

  void TrimNow() {
    std::unique_lock lock(mutex_);
    const int64_t mine = ++trims_wanted_;
    wake_.notify_one();
    trimmed_.wait(lock, [this, mine] { return trims_done_ >= mine || ended_; });
  }

 private:
  // Queues `waiting`. After an error, `waiting` is unchanged.
  absl::Status Enqueue(WaitingEvent& waiting) {
    bool first = false;
    // Without this check, the sender would occupy a connection and wait for an acknowledgement, perhaps forever.
    if (wait_.hangs()) return absl::UnavailableError("the event log's disk does not answer");
    {
      std::lock_guard lock(mutex_);
      if (!failure_.empty()) return absl::UnavailableError(failure_);
      if (closed_) return absl::UnavailableError("the event log is closed");
      first = queue_.empty();
      if (!queue_.Push(waiting)) return absl::ResourceExhaustedError("too many events wait to be stored");
    }
    if (first) wake_.notify_one();
    return absl::OkStatus();
  }

  // Runs on the event log's thread. Alternates between storing a batch of events and a step of retention, so that
  // neither delays the other for long.
  void Run() {
    absl::Status status;
    bool more_to_trim = true;
    while (status.ok()) {
      std::vector<WaitingEvent> batch;
      int64_t trims_wanted;
      {
        std::unique_lock lock(mutex_);
        const auto something_to_do = [this, more_to_trim] {
          return more_to_trim || !queue_.empty() || closed_ || trims_wanted_ != trims_done_;
        };
        wake_.wait_for(lock, absl::ToChronoNanoseconds(options_.retention_interval), something_to_do);
        if (queue_.empty() && closed_) break;
        if (gathers_) wake_.wait_for(lock, kGather, [this] { return closed_; });
        batch = queue_.TakeBatch();
        gathers_ = batch.size() > 1;
        trims_wanted = trims_wanted_;
      }
      wait_.Begin();
      if (!batch.empty()) status = Store(&batch);
      if (status.ok()) status = Trim(&more_to_trim);
      wait_.End();
      if (status.ok() && !more_to_trim) EndTrim(trims_wanted);
    }
    wait_.Begin();
    if (status.ok()) status = writer_->CheckpointAll();
    if (!status.ok()) Fail(status);
    writer_ = nullptr;
    wait_.End();
    std::lock_guard lock(mutex_);
    ended_ = true;
    trimmed_.notify_all();
  }

  // Returns an error only if the event log cannot continue.
  absl::Status Store(std::vector<WaitingEvent>* batch) {
    std::vector<const Event*> events;
    events.reserve(batch->size());
    for (const WaitingEvent& waiting : *batch) events.push_back(&*waiting.event);
    std::vector<std::optional<AppendOutcome>> outcomes;
    const absl::Status status = writer_->Store(events, options_.now(), &outcomes);
    const bool can_go_on = CanGoOn(status);
    if (!can_go_on) {
      // Sets `failure_` before any callback runs, so that the log accepts no event after a callback has received the
      // error.
      std::lock_guard lock(mutex_);
      failure_ = std::string(CannotStore(status).message());
    }
    ReportState(status);
    // Reports the growth before the acknowledgements, as SetOnGrowth requires.
    if (can_go_on) ReportGrowth();
    {
      std::lock_guard lock(mutex_);
      queue_.Release(*batch);
    }
    for (size_t i = 0; i < batch->size(); ++i) {
      WaitingEvent& waiting = (*batch)[i];
      if (can_go_on && outcomes[i]) {
        Finish(waiting, *outcomes[i]);
      } else {
        Finish(waiting, CannotStore(status));
      }
    }
    return can_go_on ? writer_->Checkpoint() : status;
  }

  // `status` is the result of an attempt to store events.
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

  absl::Status Trim(bool* more) {
    absl::StatusOr<bool> trimmed = writer_->Trim(options_.now());
    ReportGrowth();  // Trim writes the mark of an earlier commit if the disk had no space for it
    *more = trimmed.ok() && *trimmed;
    // If the disk is full or locked, the log tries again when an event arrives or after `retention_interval`.
    if (absl::IsResourceExhausted(trimmed.status()) || absl::IsAborted(trimmed.status())) return absl::OkStatus();
    if (!trimmed.ok()) return trimmed.status();
    return *more ? writer_->Checkpoint() : absl::OkStatus();
  }

  void EndTrim(int64_t trims_wanted) {
    std::lock_guard lock(mutex_);
    trims_done_ = trims_wanted;
    trimmed_.notify_all();
  }

  void Fail(const absl::Status& status) {
    std::vector<WaitingEvent> waiting;
    {
      std::lock_guard lock(mutex_);
      failure_ = std::string(CannotStore(status).message());
      waiting = queue_.TakeAll();
    }
    for (WaitingEvent& event : waiting) Finish(event, CannotStore(status));
    if (options_.on_fatal) options_.on_fatal(status);
  }

  const SqliteEventLogOptions options_;
  const std::optional<ExclusiveFile> file_;
  const LogIdentity identity_;
  Position reported_;  // the last position that was passed to on_growth_; used only by the event log's thread
  const std::shared_ptr<const std::atomic<Position>> marked_;
  std::unique_ptr<LogWriter> writer_;  // used only by the event log's thread
  WaitClock wait_;                     // of the thread's current use of the disk
  bool failing_ = false;               // the last state that on_state received; used only by the event log's thread
  std::function<void(Position)> on_growth_;  // after the first Append, used only by the event log's thread

  // Not absl::Mutex: ThreadSanitizer cannot instrument Debian's build of Abseil.
  std::mutex mutex_;
  std::condition_variable wake_;     // wakes the event log's thread
  std::condition_variable trimmed_;  // wakes TrimNow
  EventQueue queue_;
  bool gathers_ = false;  // the previous batch had several events
  bool closed_ = false;
  std::string failure_;  // why the event log cannot continue; empty if it can
  int64_t trims_wanted_ = 0;
  int64_t trims_done_ = 0;
  bool ended_ = false;
  std::once_flag joined_;
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<EventLog>> Open(SqliteEventLogOptions options) {
  std::optional<ExclusiveFile> file;
  if (options.disk == &Disk::System()) {
    ABSL_ASSIGN_OR_RETURN(ExclusiveFile claimed, ClaimLogFile(options.path));
    file = std::move(claimed);
  }
  ABSL_RETURN_IF_ERROR(SettleLogFile(options.path, *options.disk));
  options.max_queued_bytes = std::min(options.max_queued_bytes, kMaxQueuedBytes);
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
