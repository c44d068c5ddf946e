// The audit log: records the decision about every call, durably before anything is stamped, and the call's outcome.
#ifndef STAMPGATE_GATEWAY_AUDIT_LOG_H_
#define STAMPGATE_GATEWAY_AUDIT_LOG_H_

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/audit/chain.h"
#include "gateway/audit/record.h"
#include "gateway/audit/writer.h"
#include "gateway/process/line_limiter.h"
#include "stamp/secret/bytes.h"

namespace stampgate {

// Thread-safe; no call except Close waits for the disk. One thread writes: each sync covers all records that arrived
// during the previous one. Outcomes and denials wait up to 10 ms for an allow to share its sync.
//
// While the disk is full, slow, read-only or broken, every Allow fails. Outcomes are queued until they can be written;
// the queue is bounded by the number of open allows. Every Allow, and a timer, retries. If the process ends before an
// outcome is written, the next start writes the outcome UNKNOWN.
class AuditLog {
 public:
  // The sequence number of an allow record.
  using AllowId = uint64_t;
  using OnAllowed = absl::AnyInvocable<void(absl::StatusOr<AllowId>)>;
  using Head = AuditHead;

  // Which bound an allow counts for. Event reads stay open as long as their callers like, so they have their own bounds
  // and cannot use up the capacity of calls that are stamped.
  enum class Room { kCalls, kReads };

  // The durable allows that have no durable outcome.
  struct OpenAllows {
    size_t calls = 0;
    size_t reads = 0;
    std::optional<std::chrono::steady_clock::time_point>
        oldest_call;  // when the oldest call was allowed; set if there are calls
  };

  // Queued allows of one Room; more are refused.
  static constexpr size_t kMaxWaitingAllows = 4096;
  // Allows of one Room that are queued or have no durable outcome; more are refused. For reads this is more than the
  // number of possible streams.
  static constexpr size_t kMaxOpenAllows = 16384;
  static constexpr size_t kMaxOpenReads = 1 << 18;
  // Queued denials; further ones are only counted.
  static constexpr size_t kMaxWaitingDenials = 4096;
  // Six denials a minute of each caller and of each stranger are written; further ones are counted, in one count record
  // a minute. In 24 hours at most 2,000 denials of each caller are written, and 10,000 denials and counts of all
  // strangers together. Further ones of strangers go into one count a minute, of FloodBound::kOthers. The record of a
  // denial has at most kAuditDenialBytes, so that strangers can fill less than 48 MiB a day, and each caller less than
  // 16 MiB by denials. Usual records have a tenth of that size.
  static constexpr FloodBound::Limits kDenialLimits = {
      .window = absl::Minutes(1), .per_window = 6, .daily = 2'000, .strangers_daily = 10'000};

  struct Options {
    std::string file;          // see AuditWriter::Open
    SecretBytes key;           // 32 bytes, see key.h
    std::string version = "";  // of the program, written to the log
    int64_t max_file_bytes = 1 << 30;
    std::function<absl::Time()> now;
    // Receives the error when writing begins to fail, and OK when it works again. Runs on the log's thread; must not
    // block. After kDataLoss, writing fails until a restart. May be empty.
    std::function<void(const absl::Status&)> observe = nullptr;
    // The same for the change to a new file. If that fails, the current file grows, and nothing stops.
    std::function<void(const absl::Status&)> observe_rotation = nullptr;
    // Receives what a crash left at the file's end, before Open removes it. Runs on Open's thread. May be empty.
    std::function<void(const AuditWriter::TornEnd&)> observe_torn_end = nullptr;
    // Receives the open allows: from Open, and after records were written, before their callbacks. Runs like `observe`.
    std::function<void(const OpenAllows&)> observe_open = nullptr;
    // The clock of OpenAllows.
    std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
    // How often failed writes are retried, and counts of denials are written.
    absl::Duration retry_interval = absl::Seconds(1);
    FileCalls* calls = nullptr;  // for tests; must outlive the log
  };

  // Reads the whole file, which may take seconds. Errors: those of AuditWriter::Open.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(Options options);

  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  ~AuditLog();

  // Calls `done` once the record is on the disk; only then may anything be stamped. End must follow in every case, also
  // if the caller has cancelled meanwhile.
  //
  // After an error nothing may be stamped and End must not be called. Errors: kResourceExhausted, at once and on this
  // thread, if the Room is full; kUnavailable if the record cannot be written, or the log is closed.
  //
  // `done` runs on the log's thread and delays all waiting calls, so it should pass longer work to another thread. It
  // may call the log, except Close.
  void Allow(const AuditDecision& decision, OnAllowed done, Room room = Room::kCalls);

  // Writes a denial as soon as possible. Denials beyond kDenialLimits or kMaxWaitingDenials are counted, and the count
  // is written. A caller in brackets is a stranger, see StrangerName.
  void Deny(const AuditDecision& decision);

  // Writes the outcome of an allowed call. Only the first outcome of an allow counts.
  void End(AllowId allow, const AuditOutcome& outcome);

  // The last durable record.
  Head head() const;

  // Writes the queued records and a stop record, and closes the file. Do not call it from a callback. Later calls of
  // Allow fail; those of Deny and End do nothing.
  void Close();

 private:
  struct Waiting {
    AuditWriter::Entry entry;
    OnAllowed done;  // for an allow
    Room room = Room::kCalls;
    FloodBound::Counted counted;  // for a denied_count
  };

  // The allows that a Room holds.
  struct Occupancy {
    size_t open = 0;     // written, without a durable outcome
    size_t waiting = 0;  // in the queue or being written
  };

  AuditLog(Options options, std::unique_ptr<AuditWriter> writer);

  Occupancy& Of(Room room) { return occupancy_[room == Room::kReads ? 1 : 0]; }

  absl::Status Enqueue(Waiting& waiting);
  void Run();
  // Waits for records and adds them to `group`. Returns false with the last group.
  bool Collect(std::vector<Waiting>& group);
  // Leaves in `group` what must be retried.
  void WriteGroup(std::vector<Waiting>& group);
  // Updates the open allows after a group was written.
  void NoteOpen(const std::vector<Waiting>& group);
  OpenAllows StillOpen() const;

  const std::function<absl::Time()> now_;
  const std::function<void(const absl::Status&)> observe_;
  const std::function<void(const absl::Status&)> observe_rotation_;
  const std::function<void(const OpenAllows&)> observe_open_;
  const std::function<std::chrono::steady_clock::time_point()> steady_now_;
  const absl::Duration retry_interval_;

  // Used by the thread only.
  std::unique_ptr<AuditWriter> writer_;
  absl::btree_map<AllowId, std::chrono::steady_clock::time_point>
      open_calls_;  // when each was allowed; ordered by time
  absl::flat_hash_set<AllowId> open_reads_;
  bool failing_ = false;           // the last state that observe_ received
  bool rotation_failing_ = false;  // the last state that observe_rotation_ received

  // From the standard library, because ThreadSanitizer understands it.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting> queue_;
  bool urgent_ = false;  // an allow is in the queue
  FloodBound denials_{kDenialLimits};
  AuditPosition head_;
  std::array<Occupancy, 2> occupancy_;
  size_t waiting_denials_ = 0;  // in the queue or being written
  bool closed_ = false;

  std::once_flag joined_;
  std::thread thread_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_AUDIT_LOG_H_
