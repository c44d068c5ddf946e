#include "gateway/store/sqlite/call_writer.h"

#include <sodium.h>

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/disk/row_checksum.h"
#include "base/disk/vfs_file.h"
#include "gateway/store/sqlite/call_file.h"

namespace stampgate {
namespace {

// The maximum number of expired rows that one transaction removes, so that submits do not wait long for the
// transaction.
constexpr int kTrimRows = 500;

// Each commit stores the current age. If the current age exceeds the stored age by this much, Tidy makes a commit that
// stores the age.
constexpr absl::Duration kAgeAhead = absl::Minutes(10);

// A limit that is larger than every MarkFile.
constexpr size_t kMarkFileBytes = 8192;

// Returns whether any store has ever written to the mark file.
absl::StatusOr<bool> HadMark(const std::string& path, Disk& disk) {
  ABSL_RETURN_IF_ERROR(disk.Settle(path));
  ABSL_ASSIGN_OR_RETURN(VfsFile file, VfsFile::Open(path, disk.vfs()));
  ABSL_ASSIGN_OR_RETURN(const std::string bytes, file.Read(0, kMarkFileBytes));
  return bytes.find_first_not_of('\0') != std::string::npos;
}

HighWaterMark MarkOf(const StoreState& state) {
  return {.number = static_cast<uint64_t>(state.commit), .digest = state.commit_id};
}

}  // namespace

absl::StatusOr<std::unique_ptr<CallWriter>> CallWriter::Open(Options options) {
  if (sodium_init() < 0) return absl::InternalError("libsodium does not start");
  for (const char* suffix : {"", "-wal"}) {
    ABSL_RETURN_IF_ERROR(options.disk->Settle(absl::StrCat(options.path, suffix)));
  }
  const std::string mark_path = absl::StrCat(options.path, kCommitMarkSuffix);
  ABSL_ASSIGN_OR_RETURN(const bool had_mark, HadMark(mark_path, *options.disk));
  // If the mark file was written but the database has no table, a store has been lost.
  ABSL_ASSIGN_OR_RETURN(SqliteConnection connection,
                        OpenCallFile(options.path, options.disk->vfs(), options.synchronous_full,
                                     MakeStoreState(options.now(), /*distrusted=*/had_mark)));
  std::unique_ptr<CallWriter> writer(new CallWriter(std::move(options)));
  ABSL_ASSIGN_OR_RETURN(writer->file_,
                        DurableFile::Create(std::move(connection), writer->options_.checkpoint_pages, kCallFileBusyMs));
  ABSL_RETURN_IF_ERROR(writer->Prepare());
  ABSL_ASSIGN_OR_RETURN(MarkFile mark, MarkFile::Open(mark_path, writer->state_.id, *writer->options_.disk));
  writer->mark_ = std::move(mark);
  writer->loss_ = writer->FindLoss();
  writer->is_new_ = writer->loss_.ok() && writer->state_.commit == 0;
  return writer;
}

absl::Status CallWriter::Prepare() {
  ABSL_ASSIGN_OR_RETURN(state_row_, StoreStateRow::Open(file_->connection()));
  ABSL_ASSIGN_OR_RETURN(state_, state_row_.Read());
  written_age_us_ = state_.clock.age_us;
  ABSL_ASSIGN_OR_RETURN(calls_, CallTable::Open(file_->connection(), state_.id));
  return absl::OkStatus();
}

absl::Status CallWriter::FindLoss() const {
  const std::optional<HighWaterMark>& mark = mark_->mark();
  if (state_.commit == 0 && state_.distrusted_age_us >= 0) {
    return absl::DataLossError("the database is empty, but its mark file proves that it had commits");
  }
  if (!mark.has_value()) {
    return state_.commit == 0 ? absl::OkStatus() : absl::DataLossError("the mark file is missing");
  }
  const auto commit = static_cast<uint64_t>(state_.commit);
  if (commit < mark->number) {
    return absl::DataLossError(
        absl::StrCat("the database ends with commit ", commit, ", but its mark file has commit ", mark->number));
  }
  if (commit == mark->number && *mark != MarkOf(state_)) {
    return absl::DataLossError(
        absl::StrCat("commit ", commit, " of the database differs from the commit in the mark file"));
  }
  return absl::OkStatus();
}

absl::Status CallWriter::OpenTimestamps(TimestampMark::Past past) {
  ABSL_ASSIGN_OR_RETURN(TimestampMark timestamps, TimestampMark::Open(absl::StrCat(options_.path, kTimestampMarkSuffix),
                                                                      state_.id, *options_.disk, past, options_.now()));
  floor_ms_ = timestamps.ms();
  timestamps_ = std::move(timestamps);
  return absl::OkStatus();
}

absl::Status CallWriter::Start() {
  if (!loss_.ok()) return Distrust();
  ABSL_RETURN_IF_ERROR(OpenTimestamps(is_new_ ? TimestampMark::Past::kNone : TimestampMark::Past::kMarked));
  state_.clock.Advance(options_.now());
  if (!is_new_) return absl::OkStatus();
  // Writes the mark to both of its places in the file, which reserves their disk space.
  for (int place = 0; place < 2; ++place) {
    ABSL_RETURN_IF_ERROR(mark_->Replace(MarkOf(state_)));
  }
  return CommitRecord(Next());
}

absl::Status CallWriter::Distrust() {
  // Before the loss is recorded, because no later Open finds a recorded loss. If the timestamps cannot be opened, the
  // next Open must find the loss again.
  ABSL_RETURN_IF_ERROR(OpenTimestamps(TimestampMark::Past::kUnknown));
  state_.clock.Advance(options_.now());
  StoreState next = Next();
  if (mark_->mark().has_value()) next.commit = std::max(next.commit, static_cast<int64_t>(mark_->mark()->number) + 1);
  next.distrusted_age_us = next.clock.age_us;
  next.distrusted_through = next.last_number;
  ABSL_RETURN_IF_ERROR(CommitRecord(next));
  for (int place = 0; place < 2; ++place) {
    ABSL_RETURN_IF_ERROR(mark_->Replace(MarkOf(state_)));
  }
  return absl::OkStatus();
}

absl::Duration CallWriter::UntilTrusted() const {
  if (state_.distrusted_age_us < 0) return absl::ZeroDuration();
  const absl::Duration passed = absl::Microseconds(state_.clock.age_us - state_.distrusted_age_us);
  return std::max(options_.key_retention - passed, absl::ZeroDuration());
}

absl::StatusOr<CallDecision> CallWriter::Decide(const KeyedSubmit& submit, const StoreState& state) {
  ABSL_ASSIGN_OR_RETURN(FoundCall found, calls_.Find(submit.caller, submit.key));
  if (found.kind == FoundCall::Kind::kDamaged) return CallDecision::Record(RecordOfDamaged(submit));
  const CallRow* row = found.kind == FoundCall::Kind::kRow ? &found.row : nullptr;
  ABSL_ASSIGN_OR_RETURN(const bool is_full, row == nullptr ? IsFullFor(submit.caller, state) : false);
  return DecideCall(submit, row,
                    {.age_us = state.clock.age_us,
                     .key_retention = options_.key_retention,
                     .until_trusted = UntilTrusted(),
                     .row_is_distrusted = row != nullptr && row->number <= state.distrusted_through,
                     .is_full = is_full,
                     .next_number = state.last_number + 1});
}

absl::StatusOr<bool> CallWriter::IsFullFor(const std::string& caller, const StoreState& state) {
  if (state.keys < options_.max_keys) return false;
  if (!key_shares_.has_value()) {
    ABSL_ASSIGN_OR_RETURN(const CallTable::CallerCounts counts, calls_.CountByCaller());
    key_shares_.emplace();
    for (const auto& [name, keys] : counts) key_shares_->Add(name, keys);
  }
  return key_shares_->HasShare(caller, options_.max_keys);
}

// Must be called for each change that the open transaction makes, also while nobody counts.
void CallWriter::AddKeys(const std::string& caller, int64_t keys) {
  uncommitted_.emplace_back(caller, keys);
  if (key_shares_.has_value()) key_shares_->Add(caller, keys);
}

absl::Status CallWriter::Begin(const KeyedSubmit& submit, StoreState* next, Answer* answer) {
  ABSL_ASSIGN_OR_RETURN(CallDecision decision, Decide(submit, *next));
  if (decision.row.has_value()) {
    ABSL_RETURN_IF_ERROR(calls_.Put(*decision.row));
    next->last_number = std::max(next->last_number, decision.row->number);
    if (decision.is_new_key) {
      ++next->keys;
      AddKeys(submit.caller, 1);
    }
  }
  *answer = std::move(decision.answer);
  return absl::OkStatus();
}

absl::Status CallWriter::End(const EndedAttempt& ended) {
  ABSL_ASSIGN_OR_RETURN(FoundCall found, calls_.FindNumber(ended.number));
  // If retention has deleted the row or the row is damaged, there is nothing to update.
  if (found.kind != FoundCall::Kind::kRow) return absl::OkStatus();
  EndAttempt(ended.end, &found.row);
  return calls_.Put(found.row);
}

absl::Status CallWriter::Apply(const std::vector<const CallStep*>& steps, StoreState* next,
                               std::vector<Answer>* answers) {
  for (int64_t number : not_given_) {
    absl::Status status = End({.number = number, .end = EndOfKind(AttemptEnd::Kind::kNotSent)});
    if (!status.ok()) return status;
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto* submit = std::get_if<KeyedSubmit>(steps[i]);
    ABSL_RETURN_IF_ERROR(submit != nullptr ? Begin(*submit, next, &(*answers)[i])
                                           : End(std::get<EndedAttempt>(*steps[i])));
  }
  return absl::OkStatus();
}

absl::Status CallWriter::Store(const std::vector<const CallStep*>& steps, OnDecided on_decided,
                               std::vector<Answer>* answers) {
  answers->assign(steps.size(), CallStore::Begun());
  state_.clock.Advance(options_.now());
  StoreState next = Next();
  absl::Status status = file_->Begin();
  const int changes_before = sqlite3_total_changes(file_->connection().get());
  if (status.ok()) status = Apply(steps, &next, answers);
  if (status.ok() && sqlite3_total_changes(file_->connection().get()) == changes_before) return file_->RollBack();
  if (status.ok()) on_decided(*answers);
  if (status.ok()) status = Commit(next);
  if (!status.ok()) {
    status = Abandon(status);
    if (CanGoOn(status)) AnswerUnchanged(steps, status, answers);
    return status;
  }
  not_given_.clear();
  return MarkCommit(answers);
}

// After a failed transaction, sets `answers`: the results of the submits that need no change of the file, and the error
// `why` for all other steps.
void CallWriter::AnswerUnchanged(const std::vector<const CallStep*>& steps, const absl::Status& why,
                                 std::vector<Answer>* answers) {
  for (size_t i = 0; i < steps.size(); ++i) {
    (*answers)[i] = why;
    const auto* submit = std::get_if<KeyedSubmit>(steps[i]);
    if (submit == nullptr) continue;
    absl::StatusOr<CallDecision> decision = Decide(*submit, state_);
    if (decision.ok() && !decision->row.has_value()) (*answers)[i] = std::move(decision->answer);
  }
}

// If `answers` has begun attempts, writes the mark, so that a later Open detects a file that lacks these attempts. If
// the disk is full, replaces the answers of these attempts by the error.
absl::Status CallWriter::MarkCommit(std::vector<Answer>* answers) {
  const auto has_begun = [](const Answer& answer) { return answer.ok() && answer->attempt.has_value(); };
  if (std::none_of(answers->begin(), answers->end(), has_begun)) return absl::OkStatus();
  const absl::Status status = mark_->Replace(MarkOf(state_));
  if (!absl::IsResourceExhausted(status)) return status;
  for (Answer& answer : *answers) {
    if (!has_begun(answer)) continue;
    not_given_.push_back(static_cast<int64_t>(*answer->attempt));
    answer = status;
  }
  return absl::OkStatus();
}

StoreState CallWriter::Next() const {
  StoreState next = state_;
  ++next.commit;
  randombytes_buf(next.commit_id.data(), next.commit_id.size());
  return next;
}

// Commits the open transaction.
absl::Status CallWriter::Commit(StoreState next) {
  ABSL_RETURN_IF_ERROR(state_row_.Write(next));
  ABSL_RETURN_IF_ERROR(file_->Reserve());
  ABSL_RETURN_IF_ERROR(file_->Commit());
  uncommitted_.clear();
  state_ = next;
  written_age_us_ = next.clock.age_us;
  return absl::OkStatus();
}

absl::Status CallWriter::CommitRecord(const StoreState& next) {
  absl::Status status = file_->Begin();
  if (status.ok()) status = Commit(next);
  return status.ok() ? status : Abandon(status);
}

// Rolls back a transaction that failed with the error `why`, and verifies that the file is unchanged. Returns `why` if
// the file is unchanged.
absl::Status CallWriter::Abandon(const absl::Status& why) {
  if (!CanGoOn(why)) return why;
  for (const auto& [caller, keys] : std::exchange(uncommitted_, {})) {
    if (key_shares_.has_value()) key_shares_->Add(caller, -keys);
  }
  return file_->Abandon(why, [&]() -> absl::Status {
    const absl::StatusOr<StoreState> state = state_row_.Read();
    if (state.ok() && state->commit_id == state_.commit_id) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("a failed transaction changed the file; it failed because: ", why.message()));
  });
}

// Removes some of the expired keys. Returns whether it removed any.
absl::StatusOr<bool> CallWriter::TrimStep(int max_rows) {
  const int64_t oldest_us = state_.clock.age_us - absl::ToInt64Microseconds(options_.key_retention);
  ABSL_ASSIGN_OR_RETURN(const int64_t last, calls_.LastStoredBefore(oldest_us, max_rows));
  if (last == 0) return false;
  StoreState next = Next();
  ABSL_RETURN_IF_ERROR(file_->Begin());
  ABSL_ASSIGN_OR_RETURN(const CallTable::CallerCounts counts, calls_.CountByCallerThrough(last));
  ABSL_ASSIGN_OR_RETURN(const int64_t removed, calls_.RemoveThrough(last));
  for (const auto& [caller, keys] : counts) AddKeys(caller, -keys);
  next.keys -= removed;
  ABSL_RETURN_IF_ERROR(Commit(next));
  return true;
}

absl::StatusOr<bool> CallWriter::Tidy() {
  state_.clock.Advance(options_.now());
  const absl::StatusOr<bool> trimmed = DeleteInSmallerSteps(kTrimRows, [&](int max_rows) -> absl::StatusOr<bool> {
    absl::StatusOr<bool> done = TrimStep(max_rows);
    if (!done.ok()) return Abandon(done.status());
    return done;
  });
  if (!trimmed.ok() || *trimmed) return trimmed;
  const bool age_is_written = state_.clock.age_us - written_age_us_ < absl::ToInt64Microseconds(kAgeAhead);
  if (age_is_written && not_given_.empty()) return false;
  if (not_given_.empty()) {
    ABSL_RETURN_IF_ERROR(CommitRecord(Next()));
  } else {
    std::vector<Answer> none;
    const absl::Status status = Store(
        {}, [](const auto&) {}, &none);
    if (!status.ok()) return status;
  }
  return false;
}

absl::Status CallWriter::Settle() { return file_->checkpointer().Run(); }

absl::Status CallWriter::RaiseTimestamps(uint64_t ms) {
  return ms > timestamps_->ms() ? timestamps_->Set(ms) : absl::OkStatus();
}

absl::Status CallWriter::Close(uint64_t next_timestamp_ms) {
  ABSL_RETURN_IF_ERROR(file_->checkpointer().Finish());
  if (next_timestamp_ms >= timestamps_->ms()) return absl::OkStatus();
  const absl::Status status = timestamps_->Set(next_timestamp_ms);
  return CanGoOn(status) ? absl::OkStatus() : status;
}

}  // namespace stampgate
