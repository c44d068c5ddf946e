// Changes the call store's file: stores attempts, deletes expired keys, and runs checkpoints.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_CALL_WRITER_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_CALL_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/disk/disk.h"
#include "base/disk/durable_file.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/mark_file.h"
#include "base/disk/sqlite.h"
#include "gateway/store/call_row.h"
#include "gateway/store/call_step.h"
#include "gateway/store/call_store.h"
#include "gateway/store/key_shares.h"
#include "gateway/store/queued_call_store.h"
#include "gateway/store/sqlite/call_table.h"
#include "gateway/store/sqlite/store_state.h"
#include "gateway/store/sqlite/timestamp_mark.h"

namespace stampgate {

// Changes the file in one transaction at a time, on the calling thread. Only one thread may use this object at a time.
// Errors of the functions that change the file:
//   kResourceExhausted, kAborted  nothing was changed, and a retry can succeed: the disk is full, or another
//                                 program holds a lock on the file
//   any other                     the store cannot continue: do not use this object again
class CallWriter final : public CallBackend {
 public:
  // See SqliteCallStoreOptions.
  struct Options {
    std::string path;
    Disk* disk = nullptr;
    absl::Duration key_retention;
    int64_t max_keys = 0;
    int checkpoint_pages = 0;
    bool synchronous_full = true;
    std::function<absl::Time()> now;
    // The claim of the file, which the writer keeps. Nothing if the caller keeps it, or if the disk is simulated.
    std::optional<ExclusiveFile> claim = std::nullopt;
  };

  // Opens the file, makes sure that the page cache and the disk have the same content, and compares the file with its
  // mark. Requires that ClaimCallFile has claimed the file. Call Start or Distrust before any other function. Errors:
  // those of OpenCallFile and MarkFile::Open.
  static absl::StatusOr<std::unique_ptr<CallWriter>> Open(Options options);

  // Returns whether the store is new: this Open created the store, or an earlier Open created it and Start has never
  // succeeded since.
  bool is_new() const { return is_new_; }
  // Returns kDataLoss, with a message that describes the loss, if the file lacks data that its mark proves. Otherwise
  // returns OK.
  const absl::Status& loss() const { return loss_; }

  // Completes the opening: opens the mark of the timestamps. If loss() is an error, does the same as Distrust. After
  // Start has succeeded, is_new() is false for each later Open, and no later Open finds the same loss again. Errors:
  // those of TimestampMark::Open, and those of the functions that change the file.
  absl::Status Start();

  // Completes the opening, and records durably that the file possibly lacks attempts and that its timestamps are
  // possibly outdated. For the retention time after this call, the store begins no attempt for the keys that it has,
  // but returns their records, and it refuses all other keys. Errors: those of Start.
  absl::Status Distrust();

  uint64_t timestamp_floor_ms() const override { return floor_ms_; }
  std::optional<TimestampLease> lease() const override { return std::nullopt; }
  int64_t keys() const override { return state_.keys; }

  // If this returns OK, begun attempts and ends are on the disk. After kResourceExhausted or kAborted, `answers` has
  // the results of the submits that need no change of the file, and errors for the other submits. Calls `on_decided`
  // only if the steps change the file.
  absl::Status Store(const std::vector<const CallStep*>& steps, OnDecided on_decided,
                     std::vector<Answer>* answers) override;

  // If the current age is much higher than the age in the file (see AgeClock), also stores the current age.
  absl::StatusOr<bool> Tidy() override;

  // If the write-ahead log has at least `checkpoint_pages` pages, copies committed pages from it into the database
  // file.
  absl::Status Settle() override;

  absl::Status RaiseTimestamps(uint64_t ms) override;

  // Copies all committed pages from the write-ahead log into the database file. If the copy succeeds, the destructor
  // leaves no write-ahead log. Lowers the bound of the timestamps to `next_timestamp_ms`, unless it is lower already.
  absl::Status Close(uint64_t next_timestamp_ms) override;

  // Returns the state row of the file, but with the current clock instead of the stored clock.
  const StoreState& state() const { return state_; }

 private:
  explicit CallWriter(Options options) : options_(std::move(options)) {}

  absl::Status Prepare();
  absl::Status FindLoss() const;
  absl::Status OpenTimestamps(TimestampMark::Past past);
  absl::Duration UntilTrusted() const;

  absl::StatusOr<CallDecision> Decide(const KeyedSubmit& submit, const StoreState& state);
  absl::StatusOr<bool> IsFullFor(const std::string& caller, const StoreState& state);
  void AddKeys(const std::string& caller, int64_t keys);
  absl::Status Begin(const KeyedSubmit& submit, StoreState* next, Answer* answer);
  absl::Status End(const EndedAttempt& ended);
  absl::Status Apply(const std::vector<const CallStep*>& steps, StoreState* next, std::vector<Answer>* answers);
  void AnswerUnchanged(const std::vector<const CallStep*>& steps, const absl::Status& why,
                       std::vector<Answer>* answers);
  absl::Status MarkCommit(std::vector<Answer>* answers);

  StoreState Next() const;
  absl::Status Commit(StoreState next);
  absl::Status CommitRecord(const StoreState& next);
  absl::Status Abandon(const absl::Status& why);
  absl::StatusOr<bool> TrimStep(int max_rows);

  const Options options_;
  std::unique_ptr<DurableFile> file_;
  std::optional<MarkFile> mark_;
  std::optional<TimestampMark> timestamps_;  // since Start
  uint64_t floor_ms_ = 0;
  bool is_new_ = false;
  absl::Status loss_;
  StoreState state_;
  int64_t written_age_us_ = 0;  // the age in the file's state row
  // Row numbers of attempts that are in the file although Store returned an error for them, because the disk had no
  // space for the mark.
  std::vector<int64_t> not_given_;

  // The keys of each caller. Set when the file has its maximum of keys for the first time: to count the keys of a full
  // file takes about a second.
  std::optional<KeyShares> key_shares_;
  CallTable::CallerCounts uncommitted_;  // what the open transaction has added to them

  CallTable calls_;
  StoreStateRow state_row_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_CALL_WRITER_H_
