#include "webhooks/log/postgres/postgres_reader.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/secret/sha256.h"
#include "webhooks/log/state.h"

namespace stampgate {
namespace {

// The columns of a row without its body.
constexpr char kColumns[] =
    "e.position, e.commit_us, e.event_id, e.organization_id, e.parent_organization_id, e.type, e.key_id,"
    " e.timestamp_ms, e.signature, e.headers, e.body_sha256, e.previous, e.digest, e.seal, "
    "octet_length(e.body)::bigint";
constexpr int kDigestColumn = 12;
constexpr int kSealColumn = 13;
constexpr int kBodySizeColumn = 14;

// Requires that the row is not NULL.
EventRow RowOf(const PostgresResult& rows, int row) {
  EventRow columns;
  columns.position = rows.Number(row, 0);
  columns.commit_us = rows.Number(row, 1);
  columns.event_id = rows.Bytes(row, 2);
  columns.organization_id = rows.Bytes(row, 3);
  columns.parent_organization_id = rows.Bytes(row, 4);
  columns.type = rows.Bytes(row, 5);
  columns.key_id = rows.Bytes(row, 6);
  columns.timestamp_ms = rows.Number(row, 7);
  columns.signature = rows.Bytes(row, 8);
  columns.headers = rows.Bytes(row, 9);
  columns.body_sha256 = rows.Bytes(row, 10);
  columns.previous = rows.Bytes(row, 11);
  return columns;
}

ChainDigest DigestOf(absl::string_view bytes) {
  ChainDigest digest = {};
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  return digest;
}

// How often a function reads again because there is a newer primary.
constexpr int kTries = 3;

// After a server could not show that its events are durable, the reader waits so long before it asks again.
constexpr std::chrono::seconds kProveAgain(5);

// Calls `read` again while `is_missing` holds for its result, and there is a newer primary. Returns a result for which
// `is_missing` holds only if `reader` confirms it.
template <typename Read, typename IsMissing>
auto Confirmed(EventReader& reader, Read read, IsMissing is_missing) {
  for (int i = 0; i < kTries; ++i) {
    auto result = read();
    if (!is_missing(result)) return result;
    const absl::Status status = reader.Confirm();
    if (status.ok()) return result;
    if (!absl::IsAborted(status)) return decltype(result)(status);
  }
  return decltype(read())(absl::UnavailableError("the servers change their roles"));
}

// Whether the status reports that the log lacks something. Retention also deletes events.
bool ReportsLoss(const absl::Status& status) { return absl::IsDataLoss(status) || absl::IsFailedPrecondition(status); }

absl::Status Unreadable(const absl::Status& status) {
  return absl::UnavailableError(absl::StrCat("the event log cannot be read: ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PostgresReader>> PostgresReader::Open(PostgresAddress address, const LogIdentity& log,
                                                                     std::shared_ptr<const LogGrowth> durable) {
  std::unique_ptr<PostgresReader> reader(new PostgresReader(std::move(address), log, std::move(durable)));
  if (absl::StatusOr<LogExtent> extent = reader->Extent(); !extent.ok()) return extent.status();
  return reader;
}

// Runs `statement`, and reads the state of the log at the same moment. If the connection was lost since the last Look,
// connects again, so that the end of a server ends no subscription that waits for events.
absl::StatusOr<PostgresReader::Snapshot> PostgresReader::Look(const PostgresStatement& statement) {
  const bool connected = connection_ != nullptr;
  absl::StatusOr<Snapshot> snapshot = LookOnce(statement);
  if (connected && absl::IsUnavailable(snapshot.status())) return LookOnce(statement);
  return snapshot;
}

absl::StatusOr<PostgresReader::Snapshot> PostgresReader::LookOnce(const PostgresStatement& statement) {
  if (connection_ == nullptr || !connection_->usable()) {
    connection_ = nullptr;
    absl::StatusOr<std::unique_ptr<PostgresConnection>> connection = PostgresConnection::Open(address_);
    if (!connection.ok()) return Unreadable(connection.status());
    connection_ = *std::move(connection);
    if (!address_.allow_single_server) connection_->RequireStandby();
  }
  // The lock comes before the snapshot, because a snapshot does not keep a partition that retention drops: the log's
  // state would be of the time before, and the events of the time after.
  absl::StatusOr<PostgresConnection::Reading> reading =
      connection_->Read({{"LOCK TABLE ONLY events IN ACCESS SHARE MODE"},
                         {"SELECT id, earliest, latest, latest_digest, digest_before, wall_us, unsealed_through"
                          " FROM log, bounds"},
                         statement});
  if (!reading.ok()) {
    connection_ = nullptr;  // ends the transaction
    return absl::IsDataLoss(reading.status()) ? reading.status() : Unreadable(reading.status());
  }
  const PostgresResult& head = reading->results[1];
  if (head.rows() != 1 || head.Bytes(0, 0) != AsText(log_.id)) {
    return absl::UnavailableError("the server has another event log than when the gateway started");
  }
  Snapshot snapshot{{head.Number(0, 1), head.Number(0, 2), DigestOf(head.Bytes(0, 3)), DigestOf(head.Bytes(0, 4))},
                    std::move(reading->results[2])};
  unsealed_through_ = head.IsNull(0, 6) ? std::nullopt : std::optional(head.Number(0, 6));
  Cut(reading->terms, head.Number(0, 5), snapshot.head);
  return snapshot;
}

void PostgresReader::Cut(const CommitTerms& terms, int64_t written_us, Head& head) {
  is_cut_ = false;
  const LogPoint durable = durable_->end();
  if (head.latest <= durable.position || address_.allow_single_server) return;
  const auto now = std::chrono::steady_clock::now();
  if (now >= prove_at_) {
    if (connection_->ProveRead(terms, written_us).ok()) return;
    prove_at_ = now + kProveAgain;
  }
  is_cut_ = true;
  head.latest = std::max(durable.position, head.earliest - 1);
  head.latest_digest = head.latest == durable.position ? durable.digest : head.digest_before;
}

absl::Status PostgresReader::Confirm() {
  if (is_cut_) return absl::UnavailableError("the latest events of the log are perhaps not durable");
  if (connection_ == nullptr) return absl::UnavailableError("the connection is lost");
  return primary_check_.Confirm(*connection_);
}

absl::Status PostgresReader::Damaged(Position position, absl::string_view how) {
  lost_ = {position, position, /*gone=*/false};
  return absl::DataLossError(absl::StrCat("event ", position, " of the log is damaged: ", how));
}

// Checks that the row is at `expected`, and that its digest is correct.
absl::Status PostgresReader::CheckRow(const PostgresResult& rows, int row, Position expected) {
  if (row >= rows.rows() || rows.IsNull(row, 0) || rows.Number(row, 0) != expected) {
    return Damaged(expected, "it is missing");
  }
  const EventRow columns = RowOf(rows, row);
  if (rows.Bytes(row, kDigestColumn) != AsText(ChecksumOf(AsText(log_.id), columns))) {
    return Damaged(expected, "its checksum is wrong");
  }
  if (rows.IsNull(row, kSealColumn)) {
    if (expected <= unsealed_through_.value_or(expected)) return absl::OkStatus();
    return Damaged(expected, "it has no seal of a gateway");
  }
  if (seals_.IsValid(rows.Bytes(row, kSealColumn), columns)) return absl::OkStatus();
  return Damaged(expected, "its seal is not that of a gateway");
}

// Returns the events of the rows `wanted` of `rows`, whose digests are correct, up to the first damaged body. If the
// first of them is damaged, returns kDataLoss.
absl::StatusOr<std::vector<LoggedEvent>> PostgresReader::ReadBodies(const PostgresResult& rows,
                                                                    const std::vector<int>& wanted) {
  std::vector<LoggedEvent> events;
  if (wanted.empty()) return events;
  std::vector<int64_t> positions;
  for (const int row : wanted) positions.push_back(rows.Number(row, 0));
  // The range lets the server use the index. Without statistics, as after a copy, it would read all events for the
  // list.
  ABSL_ASSIGN_OR_RETURN(
      Snapshot bodies,
      Look({"SELECT position, body FROM events WHERE position BETWEEN $2 AND $3 AND position = ANY ($1) ORDER BY "
            "position",
            PostgresParameters().Bigints(positions).Bigint(positions.front()).Bigint(positions.back())}));
  if (positions.front() < bodies.head.earliest) return absl::OutOfRangeError("retention has deleted the next events");
  for (size_t i = 0; i < wanted.size(); ++i) {
    const EventRow row = RowOf(rows, wanted[i]);
    const int found = static_cast<int>(i);
    absl::Status damage;
    std::optional<LoggedEvent> event;
    if (found >= bodies.result.rows() || bodies.result.Number(found, 0) != row.position) {
      damage = Damaged(row.position, "it is missing");
    } else if (row.body_sha256 != AsText(Sha256(bodies.result.Bytes(found, 1)))) {
      damage = Damaged(row.position, "its body does not match its SHA-256");
    } else {
      event = EventOf(row, DigestOf(rows.Bytes(wanted[i], kDigestColumn)), std::string(bodies.result.Bytes(found, 1)));
      if (!event) damage = Damaged(row.position, "its headers are malformed");
    }
    if (!event) return events.empty() ? absl::StatusOr<std::vector<LoggedEvent>>(damage) : std::move(events);
    events.push_back(*std::move(event));
  }
  return events;
}

absl::StatusOr<LogExtent> PostgresReader::Extent() {
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot, Look({"SELECT 1"}));
  return LogExtent{snapshot.head.earliest, snapshot.head.latest};
}

absl::StatusOr<LogUsage> PostgresReader::Usage() {
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot,
                        Look({"SELECT bytes_of_log(), (SELECT commit_us FROM events ORDER BY position LIMIT 1)"}));
  LogUsage usage;
  usage.bytes = snapshot.result.Number(0, 0);
  if (!snapshot.result.IsNull(0, 1)) usage.oldest = absl::FromUnixMicros(snapshot.result.Number(0, 1));
  return usage;
}

absl::StatusOr<EventReader::Batch> PostgresReader::Read(const LogPoint& after, const EventFilter& filter,
                                                        const Limits& limits) {
  return Confirmed(
      *this, [&] { return ReadOnce(after, filter, limits); },
      [](const absl::StatusOr<Batch>& batch) { return ReportsLoss(batch.status()); });
}

absl::StatusOr<EventReader::Batch> PostgresReader::ReadOnce(const LogPoint& after, const EventFilter& filter,
                                                            const Limits& limits) {
  constexpr ChainDigest kUnknown = {};
  // If each row is an event of the batch, there is no use for more rows than events.
  const size_t most = filter.MatchesAll() ? std::min(limits.max_events, limits.max_looked_at) : limits.max_looked_at;
  ABSL_ASSIGN_OR_RETURN(
      Snapshot snapshot,
      Look({absl::StrCat("SELECT ", kColumns, " FROM events e WHERE e.position > $1 ORDER BY e.position LIMIT $2"),
            PostgresParameters().Bigint(after.position).Bigint(static_cast<int64_t>(most))}));
  const Head& head = snapshot.head;
  const PostgresResult& rows = snapshot.result;
  Batch batch;
  batch.through = after.position;
  if (after.digest != kUnknown) {
    const bool at_end = after.position == head.latest;
    if (after.position > head.latest || (at_end && after.digest != head.latest_digest)) {
      return OfAnotherHistory(after.position);
    }
  }
  if (after.position >= head.latest) return batch;
  if (after.position + 1 < head.earliest) {
    return absl::OutOfRangeError(
        absl::StrCat("retention has deleted event ", after.position + 1, " and all others before ", head.earliest));
  }
  // The digest of the event before the next row, if it is known.
  ChainDigest before = after.position == head.earliest - 1 ? head.digest_before : kUnknown;
  if (after.digest != kUnknown) {
    if (before != kUnknown && before != after.digest) return OfAnotherHistory(after.position);
    before = after.digest;
  }
  absl::Status damage;
  std::vector<int> wanted;
  std::vector<LogPoint> points;  // of the rows that are whole
  size_t bytes = 0;
  const Position end = std::min<Position>(head.latest, after.position + static_cast<Position>(most));
  for (Position expected = after.position + 1; expected <= end && wanted.size() < limits.max_events; ++expected) {
    const int row = static_cast<int>(expected - after.position - 1);
    damage = CheckRow(rows, row, expected);
    if (!damage.ok()) break;
    const EventRow columns = RowOf(rows, row);
    if (before != kUnknown && columns.previous != AsText(before)) {
      if (expected == after.position + 1 && after.digest != kUnknown) return OfAnotherHistory(after.position);
      damage = Damaged(expected, "it does not follow the event before it");
      break;
    }
    if (filter.Matches(columns.organization_id, columns.parent_organization_id, columns.type)) {
      bytes += static_cast<size_t>(std::max<int64_t>(0, rows.Number(row, kBodySizeColumn)));
      if (!wanted.empty() && bytes > limits.max_bytes) break;
      wanted.push_back(row);
    }
    before = DigestOf(rows.Bytes(row, kDigestColumn));
    points.push_back({expected, before});
  }
  absl::StatusOr<std::vector<LoggedEvent>> events = ReadBodies(rows, wanted);
  if (!events.ok() && !absl::IsDataLoss(events.status())) return events.status();
  if (!events.ok() || events->size() < wanted.size()) {
    // The body of the row wanted[read] is damaged.
    const size_t read = events.ok() ? events->size() : 0;
    const Position damaged = rows.Number(wanted[read], 0);
    points.resize(static_cast<size_t>(damaged - after.position - 1));
    if (damage.ok()) damage = Damaged(damaged, "its body cannot be read");
    if (!events.ok()) damage = events.status();
  }
  // First returns the events before the damage. The next Read returns the error.
  if (!damage.ok() && (!events.ok() || events->empty())) return damage;
  batch.events = *std::move(events);
  if (!points.empty()) {
    batch.through = points.back().position;
    batch.through_digest = points.back().digest;
  }
  return batch;
}

absl::StatusOr<ChainDigest> PostgresReader::DigestAt(Position position) {
  return Confirmed(
      *this, [&] { return DigestOnce(position); },
      [](const absl::StatusOr<ChainDigest>& digest) {
        return ReportsLoss(digest.status()) || absl::IsOutOfRange(digest.status());
      });
}

absl::StatusOr<ChainDigest> PostgresReader::DigestOnce(Position position) {
  ABSL_ASSIGN_OR_RETURN(
      Snapshot snapshot,
      Look({absl::StrCat("SELECT ", kColumns, " FROM events e WHERE e.position IN ($1, $1 + 1) ORDER BY e.position"),
            PostgresParameters().Bigint(position)}));
  const Head& head = snapshot.head;
  if (position == head.latest) return head.latest_digest;
  if (position == head.earliest - 1) return head.digest_before;
  if (position < head.earliest || position > head.latest) {
    return absl::OutOfRangeError(absl::StrCat("the log does not have the event ", position));
  }
  const PostgresResult& rows = snapshot.result;
  if (CheckRow(rows, 0, position).ok()) return DigestOf(rows.Bytes(0, kDigestColumn));
  const int next = rows.rows() - 1;
  if (next >= 0 && CheckRow(rows, next, position + 1).ok()) return DigestOf(RowOf(rows, next).previous);
  return Damaged(position, "it cannot be read");
}

absl::StatusOr<std::optional<LoggedEvent>> PostgresReader::Find(const EventName& name, const EventFilter& filter) {
  return Confirmed(
      *this, [&] { return FindOnce(name, filter); },
      [](const absl::StatusOr<std::optional<LoggedEvent>>& found) {
        return found.ok() ? !found->has_value() : ReportsLoss(found.status());
      });
}

absl::StatusOr<std::optional<LoggedEvent>> PostgresReader::FindOnce(const EventName& name, const EventFilter& filter) {
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot,
                        Look({absl::StrCat("SELECT ", kColumns,
                                           ", s.position FROM seen s LEFT JOIN events e ON e.position = s.position"
                                           " WHERE s.event_id = $1 AND ($2 OR s.scope = $3) ORDER BY s.position"),
                              PostgresParameters()
                                  .Bytes(name.event_id)
                                  .Bool(!name.organization_id.has_value())
                                  .Bytes(name.organization_id.value_or(""))}));
  constexpr int kPositionColumn = kBodySizeColumn + 1;
  const PostgresResult& rows = snapshot.result;
  absl::Status damage;
  for (int row = 0; row < rows.rows(); ++row) {
    const Position position = rows.Number(row, kPositionColumn);
    if (position < snapshot.head.earliest || position > snapshot.head.latest) continue;
    absl::Status status = CheckRow(rows, row, position);
    if (status.ok() && rows.Bytes(row, 2) != name.event_id) {
      status = Damaged(position, "its id differs from its id in the index");
    }
    if (status.ok()) {
      const EventRow columns = RowOf(rows, row);
      if (!filter.Matches(columns.organization_id, columns.parent_organization_id, columns.type)) continue;
      absl::StatusOr<std::vector<LoggedEvent>> events = ReadBodies(rows, {row});
      if (events.ok()) return std::move(events->front());
      if (absl::IsOutOfRange(events.status())) continue;
      if (!absl::IsDataLoss(events.status())) return events.status();
      status = events.status();
    }
    damage.Update(status);
  }
  if (!damage.ok()) return damage;
  return std::nullopt;
}

absl::StatusOr<Position> PostgresReader::PositionBefore(absl::Time time) {
  // Rounds up, because the commit times have no fractions of a microsecond.
  const int64_t floor_us = absl::ToUnixMicros(time);
  const int64_t time_us = absl::FromUnixMicros(floor_us) < time && floor_us < INT64_MAX ? floor_us + 1 : floor_us;
  ABSL_ASSIGN_OR_RETURN(Snapshot snapshot, Look({"SELECT position_before($1)", PostgresParameters().Bigint(time_us)}));
  return std::min(snapshot.result.Number(0, 0), snapshot.head.latest);
}

}  // namespace stampgate
