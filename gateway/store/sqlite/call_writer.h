// Changes the call store's file: stores attempts, deletes expired keys, and runs checkpoints.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_CALL_WRITER_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_CALL_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/disk/checkpointer.h"
#include "base/disk/disk.h"
#include "base/disk/mark_file.h"
#include "base/disk/sqlite.h"
#include "gateway/store/call_row.h"
#include "gateway/store/call_step.h"
#include "gateway/store/call_store.h"
#include "gateway/store/key_shares.h"
#include "gateway/store/sqlite/call_table.h"
#include "gateway/store/sqlite/store_state.h"

namespace stampgate {

// Changes the file in one transaction at a time, on the calling thread. Only one thread may use this object at a time.
// Errors of the functions that change the file:
//   kResourceExhausted, kAborted  nothing was changed, and a retry can succeed: the disk is full, or another
//                                 program holds a lock on the file
//   any other                     the store cannot continue: do not use this object again
class CallWriter {
 public:
  using Answer = absl::StatusOr<CallStore::Begun>;
  using OnDecided = absl::FunctionRef<void(const std::vector<Answer>&)>;

  // See SqliteCallStoreOptions.
  struct Options {
    std::string path;
    Disk* disk = nullptr;
    absl::Duration key_retention;
    int64_t max_keys = 0;
    int checkpoint_pages = 0;
    bool synchronous_full = true;
  };

  // Opens the file, makes sure that the page cache and the disk have the same content, and compares the file with its
  // mark. Requires that ClaimCallFile has claimed the file. Call Start before any other function. Errors: those of
  // OpenCallFile and MarkFile::Open.
  static absl::StatusOr<std::unique_ptr<CallWriter>> Open(const Options& options, absl::Time now);

  // Returns whether the store is new: this Open created the store, or an earlier Open created it and Start has never
  // succeeded since.
  bool is_new() const { return is_new_; }
  // Returns kDataLoss, with a message that describes the loss, if the file lacks data that its mark proves. Otherwise
  // returns OK.
  const absl::Status& loss() const { return loss_; }

  // Completes the opening. Call it once, after all other files of the store were created. If loss() is an error, does
  // the same as Distrust. After Start has succeeded, is_new() is false for each later Open.
  absl::Status Start(absl::Time now);

  // Records durably that the file possibly lacks attempts. For the retention time after this call, the store begins no
  // attempt for the keys that it has, but returns their records, and it refuses all other keys.
  absl::Status Distrust(absl::Time now);

  // Applies the steps in order, in one transaction. Sets one entry of `answers` for each step; ignore the entries for
  // ends. If this returns OK, begun attempts and ends are on the disk. After kResourceExhausted or kAborted, Store must
  // be called again with the ends. In this case, `answers` has the results of the submits that need no change of the
  // file, and errors for the other submits. Passes the answers to `on_decided` before the commit, if it changes the
  // file.
  absl::Status Store(const std::vector<const CallStep*>& steps, absl::Time now, OnDecided on_decided,
                     std::vector<Answer>* answers);

  // Deletes a limited number of expired keys. If the current age is much higher than the age in the file (see
  // AgeClock), stores the current age. Returns false if no expired key is left that Tidy can delete.
  absl::StatusOr<bool> Tidy(absl::Time now);

  // If the write-ahead log has at least `checkpoint_pages` pages, copies committed pages from it into the database
  // file.
  absl::Status Checkpoint();

  // Copies all committed pages from the write-ahead log into the database file. If the copy succeeds, the destructor
  // leaves no write-ahead log.
  absl::Status CheckpointAll();

  // Returns the state row of the file, but with the current clock instead of the stored clock.
  const StoreState& state() const { return state_; }

 private:
  explicit CallWriter(const Options& options) : options_(options) {}

  absl::Status Prepare();
  absl::Status FindLoss() const;
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
  absl::Status Reserve();
  absl::Status Abandon(absl::Status why);
  absl::StatusOr<bool> TrimStep(int max_rows);

  const Options options_;
  std::optional<SqliteConnection> connection_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<MarkFile> mark_;
  bool is_new_ = false;
  absl::Status loss_;
  StoreState state_;
  int64_t written_age_us_ = 0;  // the age in the file's state row
  int64_t page_bytes_ = 0;
  int64_t reserved_bytes_ = 0;  // the size that is reserved for the database file
  // Row numbers of attempts that are in the file although Store returned an error for them, because the disk had no
  // space for the mark.
  std::vector<int64_t> not_given_;

  // The keys of each caller. Set when the file has its maximum of keys for the first time: to count the keys of a full
  // file takes about a second.
  std::optional<KeyShares> key_shares_;
  CallTable::CallerCounts uncommitted_;  // what the open transaction has added to them

  CallTable calls_;
  StoreStateRow state_row_;
  SqliteStatement begin_;
  SqliteStatement commit_;
  SqliteStatement roll_back_;
  SqliteStatement page_count_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_CALL_WRITER_H_
