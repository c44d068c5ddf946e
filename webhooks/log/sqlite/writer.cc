#include "webhooks/log/sqlite/writer.h"

#include <algorithm>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "webhooks/log/row.h"
#include "webhooks/log/sqlite/migration.h"
#include "webhooks/log/sqlite/schema.h"
#include "webhooks/log/sqlite/seen_table.h"

namespace stampgate {
namespace {

// Limits of one transaction of retention, so that new events do not wait long for it.
constexpr int kTrimRows = 500;
constexpr int64_t kTrimBytes = 8 << 20;

// The approximate size of a row without its body and headers. If a row uses more bytes, one transaction of retention
// deletes slightly more events than necessary.
constexpr int64_t kRowBytes = 256;

// Approximate bytes that an id uses in the file.
constexpr int64_t kIdBytes = 256;

}  // namespace

absl::StatusOr<std::unique_ptr<LogWriter>> LogWriter::Open(const Options& options, absl::Time now) {
  ABSL_ASSIGN_OR_RETURN(SqliteConnection connection,
                        OpenLogFileToWrite(options.path, options.disk->vfs(), options.safeguards.synchronous_full));
  std::unique_ptr<LogWriter> writer(new LogWriter(options));
  ABSL_ASSIGN_OR_RETURN(writer->file_, DurableFile::Create(std::move(connection), options.checkpoint_pages, kBusyMs));
  ABSL_RETURN_IF_ERROR(writer->Prepare());
  ABSL_RETURN_IF_ERROR(writer->Check());
  ABSL_RETURN_IF_ERROR(writer->FindSubscriptions());
  writer->clock_ = writer->state_.clock;
  if (writer->clock_.wall_us == 0) writer->clock_ = {absl::ToUnixMicros(now), absl::ToUnixMicros(now)};
  writer->clock_.Advance(now);
  if (options.safeguards.high_water_mark) {
    ABSL_ASSIGN_OR_RETURN(MarkFile marks,
                          MarkFile::Open(options.path + "-mark", writer->state_.identity.id, *options.disk));
    writer->mark_found_ = marks.mark();
    writer->mark_file_ = std::move(marks);
  }
  return writer;
}

absl::Status LogWriter::Prepare() {
  SqliteConnection& connection = file_->connection();
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&find_seen_, "SELECT seq, body_sha256 FROM seen WHERE event_id = ?1 AND scope IN (?2, '')"},
      {&oldest_events_,
       "SELECT e.seq, coalesce(s.stored_us, e.commit_us), length(e.headers) + length(e.body), e.checksum"
       " FROM events AS e LEFT JOIN seen AS s ON s.seq = e.seq ORDER BY e.seq"},
      {&delete_events_, "DELETE FROM events WHERE seq <= ?1"},
      {&oldest_seen_, "SELECT seq, stored_us FROM seen ORDER BY seq"},
      {&delete_seen_, "DELETE FROM seen WHERE seq <= ?1"},
  };
  for (const auto& [statement, sql] : statements) {
    ABSL_ASSIGN_OR_RETURN(*statement, SqliteStatement::Prepare(connection, sql));
  }
  ABSL_ASSIGN_OR_RETURN(holes_, HoleTable::Open(connection));
  ABSL_ASSIGN_OR_RETURN(table_, EventTable::Open(connection));
  ABSL_ASSIGN_OR_RETURN(read_record_, LogStateReader::Open(connection));
  ABSL_ASSIGN_OR_RETURN(write_record_, LogStateWriter::Open(connection));
  return absl::OkStatus();
}

// Returns an error if new events would leave gaps or use a position twice. Reads only the ends of the tables.
absl::Status LogWriter::Check() {
  ABSL_ASSIGN_OR_RETURN(LogState state, read_record_.Read());
  state_ = state;
  ABSL_ASSIGN_OR_RETURN(
      int64_t given,
      file_->connection().Number("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)"));
  ABSL_ASSIGN_OR_RETURN(int64_t last_event, file_->connection().Number("SELECT coalesce(max(seq), 0) FROM events"));
  ABSL_ASSIGN_OR_RETURN(int64_t last_seen, file_->connection().Number("SELECT coalesce(max(seq), 0) FROM seen"));
  ABSL_ASSIGN_OR_RETURN(Position last, LastBeforeHoles(state_.latest));
  if (state_.earliest < 1 || state_.earliest > state_.latest + 1 || given != state_.latest ||
      last_event != (last < state_.earliest ? 0 : last) || (last_seen != last && last_seen != 0)) {
    return absl::DataLossError(absl::StrCat("it should have the events ", state_.earliest, " to ", state_.latest,
                                            ", but its last event is ", last_event, ", its last id belongs to event ",
                                            last_seen, ", and its position counter is ", given));
  }
  return absl::OkStatus();
}

// Returns the highest position that is in no hole and is at most `position`. A hole is a range of lost events.
absl::StatusOr<Position> LogWriter::LastBeforeHoles(Position position) {
  for (;;) {
    ABSL_ASSIGN_OR_RETURN(std::optional<LostEvents> hole, holes_.Find(position));
    if (!hole) return position;
    position = hole->first - 1;
  }
}

absl::Status LogWriter::AddHole(const LogPoint& end, absl::Time now) {
  LogState next = state_;
  next.latest = end.position;
  next.latest_digest = end.digest;
  next.clock = clock_;
  absl::Status status = file_->Begin();
  if (status.ok()) status = stampgate::AddHole(file_->connection(), state_.latest + 1, end.position, now);
  if (status.ok()) status = write_record_.Write(next);
  if (status.ok()) status = SetLastPosition(file_->connection(), end.position);
  if (status.ok()) status = file_->Commit();
  if (!status.ok()) return status;
  state_ = next;
  return absl::OkStatus();
}

absl::Status LogWriter::Mark() {
  const HighWaterMark mark = {static_cast<uint64_t>(state_.latest), state_.latest_digest};
  if (mark_file_ && mark_file_->mark() != mark) {
    ABSL_RETURN_IF_ERROR(mark_file_->Replace(mark));
  }
  *marked_ = state_.latest;
  return absl::OkStatus();
}

absl::StatusOr<Position> LogWriter::BeforeNewest(int max_events, int64_t max_bytes) {
  ABSL_ASSIGN_OR_RETURN(
      SqliteStatement newest,
      SqliteStatement::Prepare(file_->connection(), "SELECT seq, length(body) FROM events ORDER BY seq DESC"));
  int64_t bytes = 0;
  for (int events = 0; events < max_events; ++events) {
    ABSL_ASSIGN_OR_RETURN(bool row, newest.Step());
    if (!row) return state_.earliest - 1;
    bytes += newest.Number(1);
    if (bytes > max_bytes) return std::clamp(newest.Number(0), state_.earliest - 1, state_.latest);
  }
  return std::clamp(newest.Number(0) - 1, state_.earliest - 1, state_.latest);
}

void LogWriter::Age(absl::Time now) {
  const absl::Duration step = now - absl::FromUnixMicros(clock_.wall_us);
  clock_.Advance(now);
  const bool stepped = step > AgeClock::kMaxStep || step < -AgeClock::kMaxStep;
  if (stepped && options_.on_clock_step) options_.on_clock_step(step);
}

// Opens the tables of subscriptions, if the file has them.
absl::Status LogWriter::FindSubscriptions() {
  ABSL_ASSIGN_OR_RETURN(const bool exist, HasSubscriptionTables(file_->connection()));
  subscriptions_.reset();
  if (!exist) return absl::OkStatus();
  ABSL_ASSIGN_OR_RETURN(subscriptions_, SubscriptionTable::Open(file_->connection(), state_.identity));
  return absl::OkStatus();
}

absl::Status LogWriter::Store(const LogGroup& group, absl::Time now, LogGroupOutcome* outcome) {
  const std::vector<const Event*>& events = group.events;
  outcome->events.assign(events.size(), std::nullopt);
  outcome->changes.assign(group.changes.size(), std::nullopt);
  Age(now);
  // If the disk had no space for the mark of an earlier commit, writes this mark now.
  ABSL_RETURN_IF_ERROR(Mark());
  std::vector<bool> durable(events.size(), false);
  LogState next = state_;
  next.latest_commit_us = std::max(state_.latest_commit_us, absl::ToUnixMicros(now));
  next.clock = clock_;
  absl::Status status = file_->Begin();
  for (size_t i = 0; i < events.size() && status.ok(); ++i) {
    bool before = false;
    status = StoreOne(*events[i], &next, &outcome->events[i], &before);
    durable[i] = before;
  }
  const bool grown = next.latest != state_.latest;
  if (status.ok() && grown) status = write_record_.Write(next);
  if (status.ok()) status = Apply(group.changes, &outcome->changes);
  if (status.ok() && (grown || !group.changes.empty())) status = file_->Reserve();
  if (status.ok()) status = file_->Commit();
  const bool committed = status.ok();
  if (committed && grown) {
    state_ = next;
    status = Mark();
  }
  if (status.ok()) return status;
  for (size_t i = 0; i < events.size(); ++i) {
    if (!durable[i]) outcome->events[i] = std::nullopt;
  }
  if (committed) return status;
  outcome->changes.assign(group.changes.size(), std::nullopt);
  return Abandon(status);
}

// Applies the changes in the current transaction.
absl::Status LogWriter::Apply(const std::vector<const SubscriptionChange*>& changes,
                              std::vector<std::optional<absl::Status>>* outcomes) {
  if (!changes.empty() && !subscriptions_) {
    ABSL_RETURN_IF_ERROR(MigrateFromVersion3(file_->connection()));
    ABSL_RETURN_IF_ERROR(FindSubscriptions());
  }
  for (size_t i = 0; i < changes.size(); ++i) {
    const absl::Status applied = subscriptions_->Apply(*changes[i]);
    if (!applied.ok() && !absl::IsNotFound(applied)) return applied;
    (*outcomes)[i] = applied;
  }
  return absl::OkStatus();
}

absl::Status LogWriter::StoreOne(const Event& event, LogState* next, std::optional<AppendOutcome>* outcome,
                                 bool* durable) {
  {
    const std::string scope = EncodeScope(IdScopeOf(event));
    SqliteReset reset(find_seen_);
    find_seen_.BindText(1, event.event_id);
    find_seen_.BindText(2, scope);
    ABSL_ASSIGN_OR_RETURN(bool seen, find_seen_.Step());
    if (seen) {
      *outcome =
          find_seen_.Bytes(1) == AsText(event.body_sha256) ? AppendOutcome::kDuplicate : AppendOutcome::kConflict;
      *durable = find_seen_.Number(0) <= *marked_;
      return absl::OkStatus();
    }
  }
  ++next->latest;
  *outcome = AppendOutcome::kStored;
  return Insert(event, next);
}

// Inserts the event at the position next->latest.
absl::Status LogWriter::Insert(const Event& event, LogState* next) {
  const std::string headers = EncodeHeaders(event.headers);
  EventRow row = RowOf(event, headers);
  row.position = next->latest;
  row.commit_us = next->latest_commit_us;
  const ChainDigest previous = next->latest_digest;
  row.previous = AsText(previous);
  next->latest_digest = ChecksumOf(AsText(next->identity.id), row);

  ABSL_RETURN_IF_ERROR(table_.Add(row, next->latest_digest, event.body));
  return table_.AddId({event.event_id, IdScopeOf(event), row.position, event.body_sha256, clock_.age_us});
}

// Rolls back a failed transaction.
absl::Status LogWriter::Abandon(const absl::Status& why) {
  return file_->Abandon(why, [&]() -> absl::Status {
    absl::StatusOr<LogState> state = read_record_.Read();
    if (!state.ok()) {
      return absl::UnavailableError(
          absl::StrCat("after the error: ", why.message(), ", reading failed: ", state.status().message()));
    }
    state_ = *state;
    return FindSubscriptions();  // the transaction can have created their tables
  });
}

// Returns the last event that retention must delete now, or position 0 if retention must delete no event now.
absl::StatusOr<LogPoint> LogWriter::EventsToTrim(int max_rows) {
  ABSL_ASSIGN_OR_RETURN(int64_t in_use, file_->BytesInUse());
  int64_t excess = in_use - options_.retention_bytes;
  int64_t taken = 0;
  const int64_t oldest_us = clock_.age_us - absl::ToInt64Microseconds(options_.retention_age);
  LogPoint through;
  SqliteReset reset(oldest_events_);
  for (int rows = 0; rows < max_rows && taken < kTrimBytes; ++rows) {
    ABSL_ASSIGN_OR_RETURN(bool row, oldest_events_.Step());
    if (!row) break;
    const bool old = oldest_events_.Number(1) < oldest_us;
    if (!old && excess <= 0) break;
    through.position = oldest_events_.Number(0);
    const absl::string_view checksum = oldest_events_.Bytes(3);
    if (checksum.size() == through.digest.size()) std::copy(checksum.begin(), checksum.end(), through.digest.begin());
    const int64_t bytes = oldest_events_.Number(2) + kRowBytes;
    taken += bytes;
    excess -= bytes;
  }
  return through;
}

// Returns the last position whose id must be forgotten now, or 0 if no id must be forgotten now. Ids may use at most a
// quarter of `retention_bytes`. Without this limit, the ids of a busy month could leave no space for events, and
// retention would delete each event soon after it was stored.
absl::StatusOr<Position> LogWriter::IdsToForget(int max_rows) {
  const int64_t oldest_us = clock_.age_us - absl::ToInt64Microseconds(options_.deduplication_age);
  const int64_t max_ids = options_.retention_bytes / 4 / kIdBytes;
  Position through = 0;
  SqliteReset reset(oldest_seen_);
  for (int rows = 0; rows < max_rows; ++rows) {
    ABSL_ASSIGN_OR_RETURN(bool row, oldest_seen_.Step());
    if (!row) break;
    const Position position = oldest_seen_.Number(0);
    const bool old = oldest_seen_.Number(1) < oldest_us;
    const bool too_many = state_.latest - position >= max_ids;
    if (position >= state_.earliest || (!old && !too_many)) break;
    through = position;
  }
  return through;
}

absl::StatusOr<bool> LogWriter::TrimStep(int max_rows) {
  ABSL_ASSIGN_OR_RETURN(LogPoint events, EventsToTrim(max_rows));
  ABSL_ASSIGN_OR_RETURN(Position ids, events.position == 0 ? IdsToForget(max_rows) : 0);
  if (events.position == 0 && ids == 0) return false;

  LogState next = state_;
  next.clock = clock_;
  absl::Status status = file_->Begin();
  if (status.ok() && events.position > 0) {
    next.earliest = events.position + 1;
    next.digest_before = events.digest;
    delete_events_.Bind(1, events.position);
    status = delete_events_.Run();
  }
  if (status.ok() && ids > 0) {
    delete_seen_.Bind(1, ids);
    status = delete_seen_.Run();
  }
  if (status.ok()) status = write_record_.Write(next);
  if (status.ok()) status = file_->Commit();
  if (!status.ok()) return status;
  state_ = next;
  return true;
}

// Stores the current clock in a transaction of its own.
absl::Status LogWriter::KeepClock() {
  LogState next = state_;
  next.clock = clock_;
  absl::Status status = file_->Begin();
  if (status.ok()) status = write_record_.Write(next);
  if (status.ok()) status = file_->Commit();
  if (!status.ok()) return Abandon(status);
  state_ = next;
  return absl::OkStatus();
}

absl::StatusOr<bool> LogWriter::Trim(absl::Time now) {
  Age(now);
  if (absl::Status status = Mark(); !CanGoOn(status)) return status;
  if (clock_.age_us - state_.clock.age_us > absl::ToInt64Microseconds(AgeClock::kMaxStep)) {
    ABSL_RETURN_IF_ERROR(KeepClock());
  }
  return DeleteInSmallerSteps(kTrimRows, [&](int max_rows) -> absl::StatusOr<bool> {
    absl::StatusOr<bool> done = TrimStep(max_rows);
    if (!done.ok()) return Abandon(done.status());
    return done;
  });
}

absl::Status LogWriter::Checkpoint() { return file_->checkpointer().Run(); }

absl::Status LogWriter::CheckpointAll() {
  if (clock_.age_us != state_.clock.age_us) {
    if (absl::Status status = KeepClock(); !CanGoOn(status)) return status;
  }
  return file_->checkpointer().Finish();
}

}  // namespace stampgate
