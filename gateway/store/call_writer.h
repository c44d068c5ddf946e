// Changes the call store's file: attempts, retention, checkpoints. One transaction at a time; it has no threads.
#ifndef STAMPGATE_GATEWAY_STORE_CALL_WRITER_H_
#define STAMPGATE_GATEWAY_STORE_CALL_WRITER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/store/call_store.h"
#include "gateway/store/call_table.h"
#include "gateway/store/store_record.h"
#include "webhooks/disk/checkpointer.h"
#include "webhooks/disk/disk.h"
#include "webhooks/disk/mark_file.h"
#include "webhooks/disk/sqlite.h"

namespace stampgate {

// The end of an attempt of the row with this number.
struct EndedAttempt {
  int64_t number = 0;
  AttemptEnd end;
};

// One step of a transaction. In the answer to a KeyedSubmit, Begun::attempt is the row's number.
using CallStep = std::variant<KeyedSubmit, EndedAttempt>;

// One thread at a time. Errors of functions that change the file:
//   kResourceExhausted, kAborted  nothing was changed, and a later call may succeed: the disk is full, or another
//                                 program holds a lock on the file
//   anything else                 the store cannot continue: call nothing more
class CallWriter {
 public:
  using Answer = absl::StatusOr<CallStore::Begun>;

  // See SqliteCallStoreOptions.
  struct Options {
    std::string path;
    Disk* disk = nullptr;
    absl::Duration key_retention;
    int64_t max_keys = 0;
    int checkpoint_pages = 0;
    bool synchronous_full = true;
  };

  // Opens the file, makes sure that its cached content equals the disk's, and compares it with the mark. The caller
  // must have claimed the file, and must call Start before anything else. Errors: those of OpenCallFile and
  // MarkFile::Open.
  static absl::StatusOr<std::unique_ptr<CallWriter>> Open(const Options& options, absl::Time now);

  // Whether this Open created the store, or an earlier one that was not followed by Start.
  bool is_new() const { return is_new_; }
  // What the file has lost since its mark was written: kDataLoss. OK if nothing.
  const absl::Status& loss() const { return loss_; }

  // Call once, when all other files exist. Records a loss, as Distrust does; after that the store is not new any more.
  absl::Status Start(absl::Time now);

  // From now on, for as long as keys are kept: returns records for the stored keys and begins no attempt for them, and
  // refuses other keys. Durable when this returns OK.
  absl::Status Distrust(absl::Time now);

  // Does the steps in order, in one transaction. `answers` has one entry for each step; those for ends have no meaning.
  // When this returns OK, begun attempts and ends are durable. After kResourceExhausted and kAborted the ends must be
  // retried; `answers` then has records that needed no change, and errors for the rest.
  absl::Status Store(const std::vector<const CallStep*>& steps, absl::Time now, std::vector<Answer>* answers);

  // Does a bounded part of retention's work, and stores the store's age from time to time. Returns whether there may be
  // more to do.
  absl::StatusOr<bool> Tidy(absl::Time now);

  // Copies committed pages from the write-ahead log into the database file, if there are enough of them.
  absl::Status Checkpoint();

  // Copies all of them. If that succeeds, the destructor leaves no write-ahead log.
  absl::Status CheckpointAll();

  // As the file has it, except for the clock.
  const StoreRecord& record() const { return record_; }

 private:
  // The decision about one submit.
  struct Decision {
    static Decision Record(KeyRecord record);
    static Decision Attempt(CallRow row, bool new_key);

    Answer answer = CallStore::Begun();
    std::optional<CallRow> row;  // the row to store, if an attempt begins
    bool new_key = false;
  };

  explicit CallWriter(const Options& options) : options_(options) {}

  absl::Status Prepare();
  absl::Status FindLoss() const;
  absl::Duration UntilTrusted() const;

  absl::StatusOr<Decision> Decide(const KeyedSubmit& submit, const StoreRecord& record);
  absl::StatusOr<Decision> DecideFound(const KeyedSubmit& submit, CallRow row, const StoreRecord& record);
  absl::Status Begin(const KeyedSubmit& submit, StoreRecord* next, Answer* answer);
  absl::Status End(const EndedAttempt& ended);
  absl::Status Apply(const std::vector<const CallStep*>& steps, StoreRecord* next, std::vector<Answer>* answers);
  void AnswerUnchanged(const std::vector<const CallStep*>& steps, const absl::Status& why,
                       std::vector<Answer>* answers);
  absl::Status MarkCommit(std::vector<Answer>* answers);

  StoreRecord Next() const;
  absl::Status Commit(StoreRecord next);
  absl::Status CommitRecord(const StoreRecord& next);
  absl::Status Reserve();
  absl::Status Abandon(absl::Status why);
  absl::StatusOr<bool> TrimStep(int max_rows);

  const Options options_;
  std::optional<SqliteConnection> connection_;
  std::optional<Checkpointer> checkpointer_;
  std::optional<MarkFile> mark_;
  bool is_new_ = false;
  absl::Status loss_;
  StoreRecord record_;
  int64_t written_age_us_ = 0;  // as the file has it
  int64_t page_bytes_ = 0;
  int64_t reserved_bytes_ = 0;  // reserved on the disk for the database file
  // Attempts that are in the file but were not returned, because the mark could not be written.
  std::vector<int64_t> not_given_;

  CallTable calls_;
  StoreRecordRow record_row_;
  SqliteStatement begin_;
  SqliteStatement commit_;
  SqliteStatement roll_back_;
  SqliteStatement page_count_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_CALL_WRITER_H_
