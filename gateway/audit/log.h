// The audit log: records the decision about each call before anything is stamped, and later the outcome of the call.
#ifndef STAMPGATE_GATEWAY_AUDIT_LOG_H_
#define STAMPGATE_GATEWAY_AUDIT_LOG_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/secret/bytes.h"
#include "base/threads/commit_thread.h"
#include "base/threads/mutex.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/record.h"
#include "gateway/audit/unsent_allows.h"
#include "gateway/audit/writer.h"
#include "gateway/process/line_limiter.h"

namespace stampgate {

// The audit log. Thread-safe. Only Open, Close and the destructor wait for the disk. One thread writes the records, and
// each sync covers all records that were queued during the previous sync. The audit log delays outcomes and denials
// until an allow is queued, but by at most 10 ms, so that one sync covers all of them.
//
// While the disk is full, read-only or broken, every Allow fails. Outcomes stay in the queue until they can be written;
// the limit of open allows also limits the number of these outcomes. Every Allow triggers a new attempt to write, and
// so does a timer. If the process ends before it has written an outcome, the next start writes the outcome UNKNOWN.
class AuditLog final : private CommitThread::Owner {
 public:
  // The sequence number of an allow record.
  using AllowId = uint64_t;
  using OnAllowed = absl::AnyInvocable<void(absl::StatusOr<AllowId>)>;
  using Head = AuditHead;

  // The two kinds of allows (decisions to allow): for a call that will be stamped, and for a read of events. An event
  // read stays open as long as its caller wants. Event reads have limits of their own, so that they cannot use up the
  // limits of stamped calls.
  enum class Kind { kCalls, kReads };

  // How many durable allows have no durable outcome.
  struct OpenAllows {
    size_t calls = 0;
    size_t reads = 0;
    // When the oldest of the `calls` was allowed; set unless `calls` is 0.
    std::optional<std::chrono::steady_clock::time_point> oldest_call;
  };

  // At most this many allows of one Kind wait to be written. Allow refuses each further one.
  static constexpr size_t kMaxWaitingAllows = 4096;
  // At most this many allows of one Kind wait to be written or have no durable outcome. Allow refuses each further one.
  // The limit of event reads is larger than the number of possible streams.
  static constexpr size_t kMaxOpenAllows = 16384;
  static constexpr size_t kMaxOpenReads = 1 << 18;
  // At most this many denials wait to be written. The audit log only counts each further one.
  static constexpr size_t kMaxWaitingDenials = 4096;
  // These limits bound the disk space that the records of denials can fill. In each minute, six denials of each caller
  // and of each stranger get records of their own. One count record, of kind denied_count, contains the number of
  // further denials of this caller or stranger. In each day, at most 2,000 denials of each caller get records of their
  // own, and all strangers together get at most 10,000 records, including count records. Beyond this limit, all
  // strangers share one count record a minute, under the name FloodBound::kOthers. A record has at most
  // kAuditDenialBytes, so the denials of strangers fill less than 48 MiB a day, and the denials of each caller fill
  // less than 16 MiB. Most records are ten times smaller.
  static constexpr FloodBound::Limits kDenialLimits = {
      .window = absl::Minutes(1), .per_window = 6, .daily = 2'000, .strangers_daily = 10'000};

  struct Options {
    std::string file;          // see AuditWriter::Open
    SecretBytes key;           // 32 bytes, see key.h
    std::string version = "";  // the version of the program, written to the audit log
    int64_t max_file_bytes = 1 << 30;
    bool daily_files = false;  // see AuditWriter::StartAnewIfDue
    std::function<absl::Time()> now;
    // Receives the error when writing begins to fail, and OK when writing works again. Runs on the log's thread and
    // must not block. After kDataLoss, writing fails until a restart. May be empty.
    std::function<void(const absl::Status&)> observe = nullptr;
    // Receives the error when rotations to a new file begin to fail, and OK when they work again. Meanwhile the log
    // continues to write to the current file, which grows. Runs on the log's thread and must not block. May be empty.
    std::function<void(const absl::Status&)> observe_rotation = nullptr;
    // Receives each closed file, see AuditWriter::Options. Runs on the log's thread, or in Open, and must not block.
    // May be empty.
    std::function<void(const AuditWriter::ClosedFile&)> observe_closed = nullptr;
    // Receives the torn end that a crash has left in the file. Open calls this function before it removes the torn end.
    // May be empty.
    std::function<void(const AuditWriter::TornEnd&)> observe_torn_end = nullptr;
    // Receives the open allows. Open calls this function. The log's thread also calls it after each written group of
    // records, before the callbacks of these records. Must not block. May be empty.
    std::function<void(const OpenAllows&)> observe_open = nullptr;
    // The clock for OpenAllows::oldest_call and WriteUnderWay.
    std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
    // How often the log retries failed writes, and checks whether it must write counts of denials or, with
    // `daily_files`, start a file.
    absl::Duration retry_interval = absl::Seconds(1);
    FileCalls* calls = nullptr;  // for tests; must outlive the log
  };

  // Opens the audit log. Reads the whole file, which can take seconds. Errors: those of AuditWriter::Open.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(Options options);

  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  ~AuditLog();

  // Queues an allow record. When the record is on the disk, calls `done` with the id of the record. The call must not
  // be stamped before that. After `done` has received an id, End must be called in every case, even if the caller has
  // cancelled the call.
  //
  // If `done` gets an error, the call must not be stamped and End must not be called. Errors: kResourceExhausted if the
  // limits of `kind` are reached; kUnavailable if the record cannot be written, if the disk hangs, or if the log is
  // closed.
  //
  // If the limits are reached, the disk hangs or the log is closed, Allow itself calls `done`. Otherwise the log's
  // thread calls `done`, and all other calls wait until `done` returns. So `done` should pass longer work to another
  // thread. `done` may use the log, but must not call Close.
  void Allow(const AuditDecision& decision, OnAllowed done, Kind kind = Kind::kCalls);

  // Queues a deny record. If kDenialLimits or kMaxWaitingDenials is exceeded, only counts the denial; a denied_count
  // record will contain the number of counted denials. A caller whose name begins with a bracket, except
  // kGatewayCaller, is a stranger, see StrangerName.
  void Deny(const AuditDecision& decision);

  // Queues the outcome of an allowed call. If End is called again for the same allow, the log ignores the later
  // outcomes.
  void End(AllowId allow, const AuditOutcome& outcome);

  // The limit of allowed calls of this kind that send nothing upstream. The users of the log must keep it: they ask
  // before Allow, and count each allowed call that has ended.
  UnsentAllows& unsent_allows(Kind kind) { return kind == Kind::kReads ? unsent_reads_ : unsent_calls_; }

  // Returns the number and the MAC of the last durable record.
  Head head() const;

  // Returns how long the log's thread has waited for the disk so far; zero if it does not wait. While this is longer
  // than kWriteHangsAfter, every Allow fails at once.
  absl::Duration WriteUnderWay() const { return thread_.under_way(); }

  // Writes the queued records and a stop record, and closes the file. Must not be called from a callback. Afterwards,
  // Allow fails, and Deny and End do nothing.
  void Close();

 private:
  struct Waiting {
    AuditWriter::Entry entry;
    OnAllowed done;  // for an allow
    Kind kind = Kind::kCalls;
    FloodBound::Counted counted;  // for a denied_count
  };

  // How many allows of one Kind are open, and how many wait to be written.
  struct Occupancy {
    size_t open = 0;     // allows that are written but have no durable outcome
    size_t waiting = 0;  // allows that are in the queue or being written
  };

  AuditLog(Options options, std::unique_ptr<AuditWriter> writer);

  Occupancy& Of(Kind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex()) {
    return occupancy_[kind == Kind::kReads ? 1 : 0];
  }

  CommitThread::Clock::time_point WriteAt() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex());
  CommitThread::Clock::time_point SleepUntil() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex());
  size_t TakeGroup() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex());
  // Writes the records of the group and calls their callbacks. The records that must be retried stay in the group.
  absl::Status WriteGroup() override;
  void Stop(absl::Status status) override;

  // Adds to the queue.
  void Push(Waiting& waiting) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_.mutex());
  // Starts a new file if it is time, and reports whether this works.
  void StartAnewIfDue();
  // Updates the sets of open allows after the group was written.
  void NoteOpen();
  OpenAllows StillOpen() const;

  const std::function<absl::Time()> now_;
  const std::function<void(const absl::Status&)> observe_;
  const std::function<void(const absl::Status&)> observe_rotation_;
  const std::function<void(const OpenAllows&)> observe_open_;
  const std::function<std::chrono::steady_clock::time_point()> steady_now_;
  const absl::Duration retry_interval_;
  const bool daily_files_;
  UnsentAllows unsent_calls_;
  UnsentAllows unsent_reads_;

  // Used by the thread only.
  std::unique_ptr<AuditWriter> writer_;
  std::vector<Waiting> group_;
  absl::btree_map<AllowId, std::chrono::steady_clock::time_point>
      open_calls_;  // the time at which each open call was allowed; ordered by time
  absl::flat_hash_set<AllowId> open_reads_;
  bool failing_ = false;           // the last state that observe_ received
  bool rotation_failing_ = false;  // the last state that observe_rotation_ received

  CommitThread thread_;
  std::vector<Waiting> queue_ ABSL_GUARDED_BY(thread_.mutex());
  bool urgent_ ABSL_GUARDED_BY(thread_.mutex()) = false;                           // an allow is in the queue
  CommitThread::Clock::time_point linger_until_ ABSL_GUARDED_BY(thread_.mutex());  // of the first record of the queue
  bool retries_ ABSL_GUARDED_BY(thread_.mutex()) = false;                          // the last write failed
  CommitThread::Clock::time_point retry_at_
      ABSL_GUARDED_BY(thread_.mutex());  // when a failed write, or the counts of denials, are due
  FloodBound denials_ ABSL_GUARDED_BY(thread_.mutex()){kDenialLimits};
  AuditPosition head_ ABSL_GUARDED_BY(thread_.mutex());
  std::array<Occupancy, 2> occupancy_ ABSL_GUARDED_BY(thread_.mutex());
  size_t waiting_denials_ ABSL_GUARDED_BY(thread_.mutex()) = 0;  // denials that are in the queue or being written
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_LOG_H_
