#include "webhooks/log/sqlite/reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/secret/sha256.h"
#include "webhooks/log/sqlite/schema.h"
#include "webhooks/log/sqlite/seen_table.h"

namespace stampgate {
namespace {

// Returns the error for a failure of SQLite that is not damage of the file.
absl::Status Unreadable(const absl::Status& status) {
  return absl::UnavailableError(absl::StrCat("the event log cannot be read: ", status.message()));
}

EventRow RowOf(const SqliteStatement& rows) {
  EventRow row;
  row.position = rows.Number(0);
  row.commit_us = rows.Number(1);
  row.event_id = rows.Bytes(2);
  row.organization_id = rows.Bytes(3);
  row.parent_organization_id = rows.Bytes(4);
  row.type = rows.Bytes(5);
  row.key_id = rows.Bytes(6);
  row.timestamp_ms = rows.Number(7);
  row.signature = rows.Bytes(8);
  row.headers = rows.Bytes(9);
  row.body_sha256 = rows.Bytes(10);
  row.previous = rows.Bytes(13);
  return row;
}
constexpr int kChecksumColumn = 11;
constexpr int kBodySizeColumn = 12;

template <size_t kSize>
std::array<uint8_t, kSize> ArrayOf(absl::string_view bytes) {
  std::array<uint8_t, kSize> array = {};
  std::copy_n(bytes.begin(), std::min(bytes.size(), kSize), array.begin());
  return array;
}

}  // namespace

// A read transaction. The state row and all other rows that it reads are of one moment, even if retention deletes
// events meanwhile.
class LogReader::Snapshot {
 public:
  static absl::StatusOr<Snapshot> Begin(LogReader& reader) {
    Snapshot snapshot(reader);
    if (absl::Status status = reader.begin_.Run(); !status.ok()) return Unreadable(status);
    absl::StatusOr<LogState> state = reader.state_.Read();
    if (!state.ok()) return Unreadable(state.status());
    snapshot.state_ = *state;
    snapshot.latest_ = state->latest;
    if (reader.visible_ != nullptr) {
      snapshot.latest_ = std::max(std::min(state->latest, reader.visible_->load()), state->earliest - 1);
    }
    return snapshot;
  }

  Snapshot(Snapshot&& other) noexcept
      : reader_(std::exchange(other.reader_, nullptr)), state_(other.state_), latest_(other.latest_) {}
  Snapshot& operator=(Snapshot&&) = delete;
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() {
    if (reader_ != nullptr && reader_->connection_.in_transaction()) reader_->end_.Run().IgnoreError();
  }

  const LogState& state() const { return state_; }

  // Returns the position of the last visible event.
  Position latest() const { return latest_; }

 private:
  explicit Snapshot(LogReader& reader) : reader_(&reader) {}

  LogReader* reader_;
  LogState state_;
  Position latest_ = 0;
};

absl::StatusOr<std::unique_ptr<LogReader>> LogReader::Open(const std::string& path, const std::string& vfs,
                                                           std::shared_ptr<const std::atomic<Position>> visible) {
  absl::StatusOr<SqliteConnection> connection = OpenLogFileToRead(path, vfs);
  if (!connection.ok()) return Unreadable(connection.status());
  std::unique_ptr<LogReader> reader(new LogReader(*std::move(connection), std::move(visible)));
  if (absl::Status status = reader->Prepare(); !status.ok()) return Unreadable(status);
  return reader;
}

absl::Status LogReader::Prepare() {
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&begin_, "BEGIN"},
      {&end_, "COMMIT"},
      {&rows_,
       "SELECT seq, commit_us, event_id, organization_id, parent_organization_id, type, key_id, timestamp_ms,"
       " signature, headers, body_sha256, checksum, length(body), previous FROM events WHERE seq >= ?1 ORDER BY seq"},
      {&body_, "SELECT body FROM events WHERE seq = ?1"},
      {&find_seen_, "SELECT seq, scope FROM seen WHERE event_id = ?1 ORDER BY seq"},
  };
  for (const auto& [statement, sql] : statements) {
    ABSL_ASSIGN_OR_RETURN(SqliteStatement prepared, SqliteStatement::Prepare(connection_, sql));
    *statement = std::move(prepared);
  }
  ABSL_ASSIGN_OR_RETURN(LogStateReader state, LogStateReader::Open(connection_));
  state_ = std::move(state);
  ABSL_ASSIGN_OR_RETURN(HoleTable holes, HoleTable::Open(connection_));
  holes_ = std::move(holes);
  return absl::OkStatus();
}

absl::Status LogReader::Damaged(Position position, absl::string_view how) {
  lost_ = {position, position, /*gone=*/false};
  return absl::DataLossError(absl::StrCat("event ", position, " of the log is damaged: ", how));
}

absl::Status LogReader::Missing(Position position) {
  ABSL_ASSIGN_OR_RETURN(std::optional<LostEvents> hole, holes_.Find(position));
  if (!hole) return Damaged(position, "it is missing");
  lost_ = *hole;
  return absl::DataLossError(absl::StrCat("the disk has lost the events ", lost_.first, " to ", lost_.last));
}

absl::StatusOr<LogExtent> LogReader::Extent() {
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot, Snapshot::Begin(*this));
  return LogExtent{snapshot.state().earliest, snapshot.latest()};
}

absl::StatusOr<LogUsage> LogReader::Usage() {
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot, Snapshot::Begin(*this));
  LogUsage usage;
  int64_t pages = 0;
  int64_t free_pages = 0;
  int64_t page_bytes = 0;
  for (const auto& [sql, number] :
       {std::pair("PRAGMA page_count", &pages), std::pair("PRAGMA freelist_count", &free_pages),
        std::pair("PRAGMA page_size", &page_bytes)}) {
    const absl::StatusOr<int64_t> read = connection_.Number(sql);
    if (!read.ok()) return Unreadable(read.status());
    *number = *read;
  }
  usage.bytes = (pages - free_pages) * page_bytes;
  SqliteReset reset(rows_);
  ABSL_ASSIGN_OR_RETURN(const std::optional<EventRow> row,
                        NextGoodRow(snapshot.state().earliest, snapshot.latest() + 1, snapshot.state()));
  if (row) usage.oldest = absl::FromUnixMicros(row->commit_us);
  return usage;
}

absl::StatusOr<EventReader::Batch> LogReader::Read(const LogPoint& after, const EventFilter& filter,
                                                   const Limits& limits) {
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot, Snapshot::Begin(*this));
  const LogState& state = snapshot.state();
  Batch batch;
  batch.through = after.position;
  if (after.position > snapshot.latest() && after.digest != ChainDigest{}) return OfAnotherHistory(after.position);
  if (after.position >= snapshot.latest()) return batch;
  if (after.position + 1 < state.earliest) {
    return absl::OutOfRangeError(
        absl::StrCat("retention has deleted event ", after.position + 1, " and all others before ", state.earliest));
  }
  absl::Status status = ReadInto(&batch, after, snapshot.latest(), state, filter, limits);
  // First returns the events before the damage. The next Read returns the error.
  if (absl::IsDataLoss(status) && !batch.events.empty()) return batch;
  if (absl::IsDataLoss(status) || absl::IsFailedPrecondition(status)) return status;
  if (!status.ok()) return Unreadable(status);
  return batch;
}

absl::Status LogReader::ReadInto(Batch* batch, const LogPoint& after, Position latest, const LogState& state,
                                 const EventFilter& filter, const Limits& limits) {
  if (last_.position != after.position) last_ = FindLast(after.position, state);
  size_t bytes = 0;
  size_t looked_at = 0;
  SqliteReset reset(rows_);
  rows_.Bind(1, after.position + 1);
  for (Position expected = after.position + 1; expected <= latest; ++expected) {
    if (batch->events.size() >= limits.max_events || looked_at++ >= limits.max_looked_at) break;
    absl::StatusOr<bool> found = rows_.Step();
    if (absl::IsDataLoss(found.status())) return Damaged(expected, found.status().message());
    if (!found.ok()) return found.status();
    if (!*found) return Missing(expected);
    const EventRow row = RowOf(rows_);
    ABSL_RETURN_IF_ERROR(CheckRow(row, expected, state));
    ABSL_RETURN_IF_ERROR(CheckChain(row, state));
    const bool follows = after.digest == ChainDigest{} || row.previous.empty() || row.previous == AsText(after.digest);
    if (expected == after.position + 1 && !follows) return OfAnotherHistory(after.position);
    if (filter.Matches(row.organization_id, row.parent_organization_id, row.type)) {
      bytes += static_cast<size_t>(std::max<int64_t>(0, rows_.Number(kBodySizeColumn)));
      if (!batch->events.empty() && bytes > limits.max_bytes) break;
      ABSL_ASSIGN_OR_RETURN(LoggedEvent event, ToEvent(row));
      batch->events.push_back(std::move(event));
    }
    last_ = {expected, ArrayOf<32>(rows_.Bytes(kChecksumColumn))};
    batch->through = expected;
    batch->through_digest = last_.digest;
  }
  return absl::OkStatus();
}

// Returns the position and digest of the event at `position`. Returns position 0 if there is no such event or the event
// is damaged.
LogPoint LogReader::FindLast(Position position, const LogState& state) {
  SqliteReset reset(rows_);
  rows_.Bind(1, position);
  const absl::StatusOr<bool> found = rows_.Step();
  if (!found.ok() || !*found || !CheckRow(RowOf(rows_), position, state).ok()) return {};
  return {position, ArrayOf<32>(rows_.Bytes(kChecksumColumn))};
}

// Checks that the previous row is still the row that preceded `row` when `row` was stored: `row.previous` must equal
// the previous row's checksum, if this checksum is known. Requires that `row` has a correct checksum.
absl::Status LogReader::CheckChain(const EventRow& row, const LogState& state) {
  if (row.previous.empty()) return absl::OkStatus();  // a row of version 1
  const ChainDigest* before = nullptr;
  if (last_.position > 0 && last_.position == row.position - 1) before = &last_.digest;
  if (state.earliest == row.position) before = &state.digest_before;
  if (before == nullptr || row.previous == AsText(*before)) return absl::OkStatus();
  return Damaged(row.position, "it does not follow the event before it");
}

absl::Status LogReader::CheckRow(const EventRow& row, Position expected, const LogState& state) {
  // Positions have no gaps. If the row has another position, the expected event is lost.
  if (row.position != expected) return Missing(expected);
  if (rows_.Bytes(kChecksumColumn) != AsText(ChecksumOf(AsText(state.identity.id), row))) {
    return Damaged(expected, "its checksum is wrong");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> LogReader::ReadBody(const EventRow& row) {
  SqliteReset reset(body_);
  body_.Bind(1, row.position);
  absl::StatusOr<bool> found = body_.Step();
  if (absl::IsDataLoss(found.status())) return Damaged(row.position, found.status().message());
  if (!found.ok()) return found.status();
  if (!*found || row.body_sha256 != AsText(Sha256(body_.Bytes(0)))) {
    return Damaged(row.position, "its body does not match its SHA-256");
  }
  return std::string(body_.Bytes(0));
}

// Makes the event of a row. Requires a row with a correct checksum.
absl::StatusOr<LoggedEvent> LogReader::ToEvent(const EventRow& row) {
  ABSL_ASSIGN_OR_RETURN(std::string body, ReadBody(row));
  std::optional<LoggedEvent> event = EventOf(row, ArrayOf<32>(rows_.Bytes(kChecksumColumn)), std::move(body));
  if (!event) return Damaged(row.position, "its headers are malformed");
  return *std::move(event);
}

absl::StatusOr<std::optional<LoggedEvent>> LogReader::Find(const EventName& name, const EventFilter& filter) {
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot, Snapshot::Begin(*this));
  const LogState& state = snapshot.state();
  const absl::StatusOr<std::vector<Position>> positions = PositionsOf(name);
  if (!positions.ok()) return Unreadable(positions.status());
  absl::Status damage;
  for (const Position position : *positions) {
    if (position < state.earliest || position > snapshot.latest()) continue;
    absl::StatusOr<std::optional<LoggedEvent>> event = EventAt(position, name.event_id, filter, state);
    if (event.ok() && !event->has_value()) continue;
    if (event.ok() || !absl::IsDataLoss(event.status())) return event;
    damage.Update(event.status());
  }
  if (!damage.ok()) return damage;
  return std::nullopt;
}

// Returns the positions of all events with this name, in ascending order.
absl::StatusOr<std::vector<Position>> LogReader::PositionsOf(const EventName& name) {
  std::vector<Position> positions;
  SqliteReset reset(find_seen_);
  find_seen_.BindText(1, name.event_id);
  for (;;) {
    ABSL_ASSIGN_OR_RETURN(const bool row, find_seen_.Step());
    if (!row) return positions;
    const bool named = !name.organization_id.has_value() || find_seen_.Bytes(1) == EncodeScope(*name.organization_id);
    if (named) positions.push_back(find_seen_.Number(0));
  }
}

// Returns the event at `position`, or nothing if it does not pass `filter`.
absl::StatusOr<std::optional<LoggedEvent>> LogReader::EventAt(Position position, absl::string_view event_id,
                                                              const EventFilter& filter, const LogState& state) {
  SqliteReset reset(rows_);
  rows_.Bind(1, position);
  absl::StatusOr<bool> found = rows_.Step();
  if (absl::IsDataLoss(found.status())) return Damaged(position, found.status().message());
  if (!found.ok()) return Unreadable(found.status());
  if (!*found) return Missing(position);
  const EventRow row = RowOf(rows_);
  ABSL_RETURN_IF_ERROR(CheckRow(row, position, state));
  if (row.event_id != event_id) return Damaged(position, "its id differs from its id in the index");
  if (!filter.Matches(row.organization_id, row.parent_organization_id, row.type)) return std::nullopt;
  absl::StatusOr<LoggedEvent> event = ToEvent(row);
  if (event.ok()) return *std::move(event);
  return absl::IsDataLoss(event.status()) ? event.status() : Unreadable(event.status());
}

absl::StatusOr<ChainDigest> LogReader::DigestAt(Position position) {
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot, Snapshot::Begin(*this));
  const LogState& state = snapshot.state();
  if (position == state.latest) return state.latest_digest;
  if (position == state.earliest - 1) return state.digest_before;
  if (position < state.earliest || position > snapshot.latest()) {
    return absl::OutOfRangeError(absl::StrCat("the log does not have the event ", position));
  }
  SqliteReset reset(rows_);
  rows_.Bind(1, position);
  absl::Status status;
  // Reads the row at `position`. If that row is damaged, reads the next row, which contains the digest of the damaged
  // one.
  for (Position at = position; at <= position + 1; ++at) {
    absl::StatusOr<bool> found = rows_.Step();
    if (!found.ok() && !absl::IsDataLoss(found.status())) return Unreadable(found.status());
    if (!found.ok() || !*found) break;
    EventRow row = RowOf(rows_);
    if (row.position == position + 1) at = position + 1;
    status = CheckRow(row, at, state);
    if (status.ok() && at == position) return ArrayOf<32>(rows_.Bytes(kChecksumColumn));
    if (status.ok() && !row.previous.empty()) return ArrayOf<32>(row.previous);
  }
  status = Missing(position);
  return absl::IsDataLoss(status) ? status : Unreadable(status);
}

// Returns the first row that has a correct checksum and a position from `from` to `before - 1`, or nothing if there is
// no such row.
absl::StatusOr<std::optional<EventRow>> LogReader::NextGoodRow(Position from, Position before, const LogState& state) {
  for (; from < before; ++from) {
    rows_.Reset();
    rows_.Bind(1, from);
    absl::StatusOr<bool> found = rows_.Step();
    if (absl::IsDataLoss(found.status())) continue;
    if (!found.ok()) return Unreadable(found.status());
    if (!*found) return std::nullopt;
    const EventRow row = RowOf(rows_);
    if (row.position == from && CheckRow(row, from, state).ok()) return row;
  }
  return std::nullopt;
}

absl::StatusOr<Position> LogReader::PositionBefore(absl::Time time) {
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot, Snapshot::Begin(*this));
  SqliteReset reset(rows_);
  // A binary search works, because commit times never decrease. The position of the first event that was committed at
  // or after `time` is always in [first, last].
  Position first = snapshot.state().earliest;
  Position last = snapshot.latest() + 1;
  while (first < last) {
    const Position middle = first + (last - first) / 2;
    ABSL_ASSIGN_OR_RETURN(std::optional<EventRow> row, NextGoodRow(middle, last, snapshot.state()));
    if (row && absl::FromUnixMicros(row->commit_us) < time) {
      first = row->position + 1;
    } else {
      last = middle;
    }
  }
  return first - 1;
}

}  // namespace stampgate
