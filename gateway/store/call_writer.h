// What changes the store's file: attempts, retention, checkpoints. One transaction at a time; it knows no threads.
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

// The end of an attempt, of the row with this number.
struct EndedAttempt {
  int64_t number = 0;
  AttemptEnd end;
};

// What the writer is asked to do. In the answer to a KeyedSubmit, Begun::attempt is the row's number.
using CallStep = std::variant<KeyedSubmit, EndedAttempt>;

// One thread at a time. Errors of what changes the file:
//   kResourceExhausted, kAborted  nothing was changed, and a later call may succeed: the disk is full, or another
//                                 program holds a lock on the file
//   anything else                 the store cannot go on: nothing more may be called
class CallWriter {
 public:
  using Answer = absl::StatusOr<CallStore::Begun>;

  // As in SqliteCallStoreOptions.
  struct Options {
    std::string path;
    Disk* disk = nullptr;
    absl::Duration key_retention;
    int64_t max_keys = 0;
    int checkpoint_pages = 0;
    bool synchronous_full = true;
  };

  // Makes sure that what it reads is on the disk, and compares it with the mark. The store is not usable before Start.
  // The caller has claimed the file. Errors: those of OpenCallFile and MarkFile::Open.
  static absl::StatusOr<std::unique_ptr<CallWriter>> Open(const Options& options, absl::Time now);

  // Whether the store has been made by this Open, or by one that did not get to Start.
  bool is_new() const { return is_new_; }
  // What the file has lost since its mark was written: kDataLoss. OK if nothing.
  const absl::Status& loss() const { return loss_; }

  // Once, when all other files are there: a loss is recorded as Distrust does, and the store is no longer new.
  absl::Status Start(absl::Time now);

  // From now on, for as long as keys are kept: the keys that are there are answered, and no attempt begins for them; a
  // key that is not there is not taken. Durable when this returns OK.
  absl::Status Distrust(absl::Time now);

  // Does the steps in their order, in one transaction. `answers` gets one for each step; those to ends mean nothing.
  // When this returns OK, attempts that have begun are durable, and ends too. After kResourceExhausted and kAborted the
  // ends are to be tried again, and `answers` has what could be answered without changing anything, and errors.
  absl::Status Store(const std::vector<const CallStep*>& steps, absl::Time now, std::vector<Answer>* answers);

  // Does a bounded part of what retention asks for, and writes down the store's age from time to time. Whether there
  // may be more to do.
  absl::StatusOr<bool> Tidy(absl::Time now);

  // Moves what has been committed from the write-ahead log to where it belongs, if there is enough of it.
  absl::Status Checkpoint();

  // The same for all of it. If that succeeds, the destructor leaves no write-ahead log.
  absl::Status CheckpointAll();

  // As the file has it, except for the clock.
  const StoreRecord& record() const { return record_; }

 private:
  // What a submit comes to.
  struct Decision {
    static Decision Record(KeyRecord record);
    static Decision Attempt(CallRow row, bool new_key);

    Answer answer = CallStore::Begun();
    std::optional<CallRow> row;  // to be stored, if an attempt begins
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
  int64_t reserved_bytes_ = 0;  // on the disk, for the file
  // Attempts that are in the file, and were not given to anybody, because the mark could not be written.
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
