// The audit log: what was decided about every call, on the disk before anything is stamped, and what came of it.
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

// Thread-safe; no call but Close waits for the disk. A thread of its own writes together, with one sync, what has come
// in while it wrote before; outcomes and denials wait up to 10 ms for an allow to be written with.
//
// When the disk is full, slow, read-only or broken, nothing is allowed, and outcomes are kept until they can be
// written: there are never more than allows without an outcome, whose number is bounded. It is tried again with every
// Allow, and in intervals. An outcome that the process takes with it is UNKNOWN, which the next start writes.
class AuditLog {
 public:
  // The sequence number of the allow record.
  using AllowId = uint64_t;
  using OnAllowed = absl::AnyInvocable<void(absl::StatusOr<AllowId>)>;
  using Head = AuditHead;

  // Reads of events stay open as long as their callers like. They have bounds of their own, so that they never take the
  // place of what is to be stamped.
  enum class Room { kCalls, kReads };

  // The allows on the disk that have no outcome there.
  struct OpenAllows {
    size_t calls = 0;
    size_t reads = 0;
    std::optional<std::chrono::steady_clock::time_point> oldest_call;  // when it was allowed; set if there are calls
  };

  // Allows of one room that wait to be written; more are refused.
  static constexpr size_t kMaxWaitingAllows = 4096;
  // Allows that wait or have no outcome on the disk yet; more are refused. Of reads, more than there can be streams.
  static constexpr size_t kMaxOpenAllows = 16384;
  static constexpr size_t kMaxOpenReads = 1 << 18;
  // Denials that wait to be written; more are counted.
  static constexpr size_t kMaxWaitingDenials = 4096;
  // Of one caller, and of one stranger, six denials a minute are written and the others counted: one count a minute.
  // In 24 hours: 2,000 denials of each caller, and 10,000 denials and counts of all strangers together. Further ones of
  // strangers are counted in one count a minute, of FloodBound::kOthers. The record of a denial is at most
  // kAuditDenialBytes long, so that strangers can fill less than 48 MiB a day, and a caller by denials less than 16
  // MiB. Usual records have a tenth of that size.
  static constexpr FloodBound::Limits kDenialLimits = {
      .window = absl::Minutes(1), .per_window = 6, .daily = 2'000, .strangers_daily = 10'000};

  struct Options {
    std::string file;          // see AuditWriter::Open
    SecretBytes key;           // 32 bytes, see key.h
    std::string version = "";  // of the program, for the log's readers
    int64_t max_file_bytes = 1 << 30;
    std::function<absl::Time()> now;
    // Gets the error when writing begins to fail, and OK when it works again. On the log's thread; must not block.
    // kDataLoss: it will not work before a restart. May be empty.
    std::function<void(const absl::Status&)> observe = nullptr;
    // The same of the change to a new file, whose failing stops nothing: the file only grows on.
    std::function<void(const absl::Status&)> observe_rotation = nullptr;
    // What a crash had left at the file's end, before Open removes it, on Open's thread. May be empty.
    std::function<void(const AuditWriter::TornEnd&)> observe_torn_end = nullptr;
    // The allows that are open, by Open and whenever records were written, before any answer. As `observe` is called.
    std::function<void(const OpenAllows&)> observe_open = nullptr;
    // For OpenAllows.
    std::function<std::chrono::steady_clock::time_point()> steady_now = std::chrono::steady_clock::now;
    // What could not be written is tried again after this time, and counts of denials are looked at.
    absl::Duration retry_interval = absl::Seconds(1);
    FileCalls* calls = nullptr;  // for tests; outlives the log
  };

  // Reads the whole file and may take seconds. Errors: those of AuditWriter::Open.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(Options options);

  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;
  ~AuditLog();

  // Calls `done` once the record is on the disk: only then may anything be stamped, and End must follow, whatever
  // happens. If the caller has left meanwhile, End says so.
  //
  // Errors, after which nothing may be stamped and End is not called: kResourceExhausted, at once and on this thread,
  // if the room has no place; kUnavailable if the record cannot be written, or the log is closed.
  //
  // `done` runs on the log's thread and holds up all who wait, so it hands longer work on. It may call the log, but
  // not Close.
  void Allow(const AuditDecision& decision, OnAllowed done, Room room = Room::kCalls);

  // Writes that a call was refused, as soon as it can be. Beyond kDenialLimits, and where too many wait, denials are
  // counted, and the count is written. A caller in brackets is a stranger, see StrangerName.
  void Deny(const AuditDecision& decision);

  // Writes what came of an allowed call. Once for each; more are ignored.
  void End(AllowId allow, const AuditOutcome& outcome);

  // The last record that is on the disk.
  Head head() const;

  // Writes what waits, and that the process ends, and lets go of the file. Not from a callback. Later calls of Allow
  // fail, and those of Deny and End do nothing.
  void Close();

 private:
  struct Waiting {
    AuditWriter::Entry entry;
    OnAllowed done;  // of an allow
    Room room = Room::kCalls;
    FloodBound::Counted counted;  // of a denied_count
  };

  // How many allows a room has.
  struct Occupancy {
    size_t open = 0;     // written, without an outcome on the disk
    size_t waiting = 0;  // in the queue or being written
  };

  AuditLog(Options options, std::unique_ptr<AuditWriter> writer);

  Occupancy& Of(Room room) { return occupancy_[room == Room::kReads ? 1 : 0]; }

  absl::Status Enqueue(Waiting& waiting);
  void Run();
  // Waits for something to write and adds it to `group`. False if it is the last.
  bool Collect(std::vector<Waiting>& group);
  // Leaves what is to be tried again.
  void WriteGroup(std::vector<Waiting>& group);
  // Notes which allows a group that was written has opened and ended.
  void NoteOpen(const std::vector<Waiting>& group);
  OpenAllows StillOpen() const;

  const std::function<absl::Time()> now_;
  const std::function<void(const absl::Status&)> observe_;
  const std::function<void(const absl::Status&)> observe_rotation_;
  const std::function<void(const OpenAllows&)> observe_open_;
  const std::function<std::chrono::steady_clock::time_point()> steady_now_;
  const absl::Duration retry_interval_;

  // The thread's own.
  std::unique_ptr<AuditWriter> writer_;
  absl::btree_map<AllowId, std::chrono::steady_clock::time_point> open_calls_;  // when each was allowed: in this order
  absl::flat_hash_set<AllowId> open_reads_;
  bool failing_ = false;           // the last that observe_ got
  bool rotation_failing_ = false;  // the last that observe_rotation_ got

  // Of the standard library, so that the thread sanitizer sees it.
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
