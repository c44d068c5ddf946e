#include "webhooks/log_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "webhooks/event_row.h"
#include "webhooks/log_file.h"

namespace stampgate {
namespace {

// A transaction of retention is no longer than this, so that appends do not wait long for it.
constexpr int kTrimRows = 500;
constexpr int64_t kTrimBytes = 8 << 20;

// Besides body and headers, about. Less than it is: retention looks again, and does not trim too much.
constexpr int64_t kRowBytes = 256;

// What an id takes in the file, about.
constexpr int64_t kIdBytes = 256;

// When the write-ahead log has grown to this many times the size from which it is checkpointed, the checkpoint waits
// for readers, who would keep it from starting anew for ever.
constexpr int kWaitForReaders = 8;

bool CanGoOn(const absl::Status& status) {
  return status.ok() || absl::IsResourceExhausted(status) || absl::IsAborted(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogWriter>> LogWriter::Open(const Settings& settings) {
  absl::StatusOr<SqliteConnection> connection =
      OpenLogFileToWrite(settings.path, settings.vfs, settings.synchronous_full);
  if (!connection.ok()) return connection.status();
  std::unique_ptr<LogWriter> writer(new LogWriter(settings));
  writer->connection_ = *std::move(connection);
  if (absl::Status status = writer->Prepare(); !status.ok()) return status;
  if (absl::Status status = writer->Check(); !status.ok()) return status;
  sqlite3_wal_hook(
      writer->connection_->get(),
      [](void* self, sqlite3*, const char*, int pages) {
        static_cast<LogWriter*>(self)->wal_pages_ = pages;
        return SQLITE_OK;
      },
      writer.get());
  return writer;
}

absl::Status LogWriter::Prepare() {
  const std::pair<SqliteStatement*, const char*> statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&roll_back_, "ROLLBACK"},
      {&find_seen_, "SELECT seq, body_sha256 FROM seen WHERE event_id = ?1"},
      {&insert_event_,
       "INSERT INTO events (seq, commit_us, event_id, organization_id, parent_organization_id, type, key_id,"
       " timestamp_ms, signature, headers, body_sha256, checksum, body)"
       " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"},
      {&insert_seen_, "INSERT INTO seen (event_id, seq, body_sha256, stored_us) VALUES (?1, ?2, ?3, ?4)"},
      {&page_count_, "PRAGMA page_count"},
      {&free_pages_, "PRAGMA freelist_count"},
      {&oldest_events_, "SELECT seq, commit_us, length(headers) + length(body) FROM events ORDER BY seq"},
      {&delete_events_, "DELETE FROM events WHERE seq <= ?1"},
      {&oldest_seen_, "SELECT seq, stored_us FROM seen ORDER BY seq"},
      {&delete_seen_, "DELETE FROM seen WHERE seq <= ?1"},
  };
  for (const auto& [statement, sql] : statements) {
    absl::StatusOr<SqliteStatement> prepared = SqliteStatement::Prepare(*connection_, sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  absl::StatusOr<LogRecordReader> read_record = LogRecordReader::Open(*connection_);
  if (!read_record.ok()) return read_record.status();
  read_record_ = *std::move(read_record);
  absl::StatusOr<LogRecordWriter> write_record = LogRecordWriter::Open(*connection_);
  if (!write_record.ok()) return write_record.status();
  write_record_ = *std::move(write_record);
  absl::StatusOr<int64_t> page_bytes = connection_->Number("PRAGMA page_size");
  if (!page_bytes.ok()) return page_bytes.status();
  page_bytes_ = *page_bytes;
  return absl::OkStatus();
}

// Appending must not begin if it would make gaps or give a position twice. Reads the ends of the tables, no more.
absl::Status LogWriter::Check() {
  absl::StatusOr<LogRecord> record = read_record_.Read();
  if (!record.ok()) return record.status();
  record_ = *record;
  absl::StatusOr<int64_t> given =
      connection_->Number("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)");
  if (!given.ok()) return given.status();
  absl::StatusOr<int64_t> last_event = connection_->Number("SELECT coalesce(max(seq), 0) FROM events");
  if (!last_event.ok()) return last_event.status();
  absl::StatusOr<int64_t> last_seen = connection_->Number("SELECT coalesce(max(seq), 0) FROM seen");
  if (!last_seen.ok()) return last_seen.status();
  const bool all_trimmed = record_.earliest == record_.latest + 1;
  if (record_.earliest < 1 || record_.earliest > record_.latest + 1 || *given != record_.latest ||
      *last_event != (all_trimmed ? 0 : record_.latest) || (*last_seen != record_.latest && *last_seen != 0)) {
    return absl::DataLossError(absl::StrCat("it is to hold the events ", record_.earliest, " to ", record_.latest,
                                            ", but its last is ", *last_event, ", its last id is of ", *last_seen,
                                            ", and it has counted to ", *given));
  }
  return absl::OkStatus();
}

absl::Status LogWriter::Store(const std::vector<const Event*>& events, absl::Time now,
                              std::vector<std::optional<AppendOutcome>>* outcomes) {
  outcomes->assign(events.size(), std::nullopt);
  std::vector<bool> durable(events.size(), false);
  LogRecord next = record_;
  next.latest_commit_us = std::max(record_.latest_commit_us, absl::ToUnixMicros(now));
  absl::Status status = begin_.Run();
  for (size_t i = 0; i < events.size() && status.ok(); ++i) {
    bool before = false;
    status = StoreOne(*events[i], &next, &(*outcomes)[i], &before);
    durable[i] = before;
  }
  const bool grown = next.latest != record_.latest;
  if (status.ok() && grown) status = write_record_.Write(next);
  if (status.ok() && grown) status = Reserve();
  if (status.ok()) status = commit_.Run();
  if (status.ok()) {
    if (grown) record_ = next;
    return absl::OkStatus();
  }
  for (size_t i = 0; i < events.size(); ++i) {
    if (!durable[i]) (*outcomes)[i] = std::nullopt;
  }
  return Abandon(status);
}

absl::Status LogWriter::StoreOne(const Event& event, LogRecord* next, std::optional<AppendOutcome>* outcome,
                                 bool* durable) {
  {
    SqliteReset reset(find_seen_);
    find_seen_.BindText(1, event.event_id);
    absl::StatusOr<bool> seen = find_seen_.Step();
    if (!seen.ok()) return seen.status();
    if (*seen) {
      *outcome =
          find_seen_.Bytes(1) == AsText(event.body_sha256) ? AppendOutcome::kDuplicate : AppendOutcome::kConflict;
      *durable = find_seen_.Number(0) <= record_.latest;
      return absl::OkStatus();
    }
  }
  ++next->latest;
  *outcome = AppendOutcome::kStored;
  return Insert(event, *next);
}

absl::Status LogWriter::Insert(const Event& event, const LogRecord& next) {
  const std::string headers = EncodeHeaders(event.headers);
  EventRow row;
  row.position = next.latest;
  row.commit_us = next.latest_commit_us;
  row.event_id = event.event_id;
  row.organization_id = event.organization_id;
  row.parent_organization_id = event.parent_organization_id;
  row.type = event.type;
  row.key_id = event.key_id;
  row.timestamp_ms = event.timestamp_ms;
  row.signature = absl::string_view(reinterpret_cast<const char*>(event.signature.data()), event.signature.size());
  row.headers = headers;
  row.body_sha256 = AsText(event.body_sha256);
  const Digest checksum = ChecksumOf(AsText(next.identity.id), row);

  insert_event_.Bind(1, row.position);
  insert_event_.Bind(2, row.commit_us);
  insert_event_.BindText(3, row.event_id);
  insert_event_.BindText(4, row.organization_id);
  insert_event_.BindText(5, row.parent_organization_id);
  insert_event_.BindText(6, row.type);
  insert_event_.BindText(7, row.key_id);
  insert_event_.Bind(8, row.timestamp_ms);
  insert_event_.BindBlob(9, row.signature);
  insert_event_.BindBlob(10, row.headers);
  insert_event_.BindBlob(11, row.body_sha256);
  insert_event_.BindBlob(12, AsText(checksum));
  insert_event_.BindBlob(13, event.body);
  if (absl::Status status = insert_event_.Run(); !status.ok()) return status;

  insert_seen_.BindText(1, row.event_id);
  insert_seen_.Bind(2, row.position);
  insert_seen_.BindBlob(3, row.body_sha256);
  insert_seen_.Bind(4, row.commit_us);
  return insert_seen_.Run();
}

// Sees to it that there is room in the file for every page that the write-ahead log is about to hold. So a checkpoint
// fits whatever else fills the disk, the write-ahead log can start anew in the room that it has, and retention goes on.
absl::Status LogWriter::Reserve() {
  absl::StatusOr<int64_t> pages = Count(page_count_);
  if (!pages.ok()) return pages.status();
  int64_t bytes = *pages * page_bytes_;
  if (bytes <= reserved_bytes_) return absl::OkStatus();
  if (sqlite3_file_control(connection_->get(), "main", SQLITE_FCNTL_SIZE_HINT, &bytes) != SQLITE_OK) {
    return absl::ResourceExhaustedError("the disk has no room for the file to grow");
  }
  reserved_bytes_ = (bytes + kGrowthBytes - 1) / kGrowthBytes * kGrowthBytes;
  return absl::OkStatus();
}

// Ends a transaction that failed. Whether its commit took effect after all is not guessed: the file is asked.
absl::Status LogWriter::Abandon(absl::Status why) {
  if (!CanGoOn(why)) return why;
  reserved_bytes_ = 0;  // a checkpoint gives back what is not needed after all
  if (connection_->in_transaction()) roll_back_.Run().IgnoreError();
  if (connection_->in_transaction()) return absl::UnavailableError("a failed transaction cannot be rolled back");
  absl::StatusOr<LogRecord> record = read_record_.Read();
  if (!record.ok())
    return absl::UnavailableError(absl::StrCat("after ", why.message(), ": ", record.status().message()));
  record_ = *record;
  // The write-ahead log has room from its beginning on once all of it has been moved.
  if (absl::Status status = RunCheckpoint(SQLITE_CHECKPOINT_PASSIVE); !status.ok()) return status;
  return why;
}

absl::StatusOr<int64_t> LogWriter::Count(SqliteStatement& pragma) {
  SqliteReset reset(pragma);
  absl::StatusOr<bool> row = pragma.Step();
  if (!row.ok()) return row.status();
  return pragma.Number(0);
}

absl::StatusOr<int64_t> LogWriter::BytesInUse() {
  absl::StatusOr<int64_t> pages = Count(page_count_);
  if (!pages.ok()) return pages.status();
  absl::StatusOr<int64_t> free = Count(free_pages_);
  if (!free.ok()) return free.status();
  return (*pages - *free) * page_bytes_;
}

// The last event that is to go now, 0 if none is.
absl::StatusOr<Position> LogWriter::EventsToTrim(absl::Time now, int max_rows) {
  absl::StatusOr<int64_t> in_use = BytesInUse();
  if (!in_use.ok()) return in_use.status();
  int64_t excess = *in_use - settings_.retention_bytes;
  int64_t taken = 0;
  Position through = 0;
  SqliteReset reset(oldest_events_);
  for (int rows = 0; rows < max_rows && taken < kTrimBytes; ++rows) {
    absl::StatusOr<bool> row = oldest_events_.Step();
    if (!row.ok()) return row.status();
    if (!*row) break;
    const bool old = absl::FromUnixMicros(oldest_events_.Number(1)) < now - settings_.retention_age;
    if (!old && excess <= 0) break;
    through = oldest_events_.Number(0);
    const int64_t bytes = oldest_events_.Number(2) + kRowBytes;
    taken += bytes;
    excess -= bytes;
  }
  return through;
}

// The last position whose id is to be forgotten now, 0 if none is. Ids may take a quarter of the room and no more: else
// those of a busy month would leave none for events, which would be trimmed as they come.
absl::StatusOr<Position> LogWriter::IdsToForget(absl::Time now, int max_rows) {
  const int64_t max_ids = settings_.retention_bytes / 4 / kIdBytes;
  Position through = 0;
  SqliteReset reset(oldest_seen_);
  for (int rows = 0; rows < max_rows; ++rows) {
    absl::StatusOr<bool> row = oldest_seen_.Step();
    if (!row.ok()) return row.status();
    if (!*row) break;
    const Position position = oldest_seen_.Number(0);
    const bool old = absl::FromUnixMicros(oldest_seen_.Number(1)) < now - settings_.deduplication_age;
    const bool too_many = record_.latest - position >= max_ids;
    if (position >= record_.earliest || (!old && !too_many)) break;
    through = position;
  }
  return through;
}

absl::StatusOr<bool> LogWriter::TrimStep(absl::Time now, int max_rows) {
  absl::StatusOr<Position> events = EventsToTrim(now, max_rows);
  if (!events.ok()) return events.status();
  absl::StatusOr<Position> ids = *events == 0 ? IdsToForget(now, max_rows) : 0;
  if (!ids.ok()) return ids.status();
  if (*events == 0 && *ids == 0) return false;

  LogRecord next = record_;
  absl::Status status = begin_.Run();
  if (status.ok() && *events > 0) {
    next.earliest = *events + 1;
    delete_events_.Bind(1, *events);
    status = delete_events_.Run();
    if (status.ok()) status = write_record_.Write(next);
  }
  if (status.ok() && *ids > 0) {
    delete_seen_.Bind(1, *ids);
    status = delete_seen_.Run();
  }
  if (status.ok()) status = commit_.Run();
  if (!status.ok()) return status;
  record_ = next;
  return true;
}

absl::StatusOr<bool> LogWriter::Trim(absl::Time now) {
  // On a full disk a smaller transaction may still fit.
  for (int max_rows = kTrimRows;; max_rows = std::max(1, max_rows / 8)) {
    absl::StatusOr<bool> done = TrimStep(now, max_rows);
    if (done.ok()) return done;
    const absl::Status status = Abandon(done.status());
    if (!absl::IsResourceExhausted(status) || max_rows == 1) return status;
  }
}

absl::Status LogWriter::RunCheckpoint(int mode) {
  const int code = sqlite3_wal_checkpoint_v2(connection_->get(), "main", mode, nullptr, nullptr);
  const absl::Status status = SqliteStatus(connection_->get(), code);
  // Readers, or a full disk: what has been committed stays where it is, and a later checkpoint moves it.
  return CanGoOn(status) ? absl::OkStatus() : status;
}

absl::Status LogWriter::Checkpoint() {
  const int patience = kWaitForReaders * settings_.checkpoint_pages;
  if (wal_pages_ < settings_.checkpoint_pages) {
    wait_for_readers_at_ = patience;
    return absl::OkStatus();
  }
  if (wal_pages_ < wait_for_readers_at_) return RunCheckpoint(SQLITE_CHECKPOINT_PASSIVE);
  // If a reader does not let go in time, the next wait is far off.
  wait_for_readers_at_ = wal_pages_ + patience;
  return RunCheckpoint(SQLITE_CHECKPOINT_RESTART);
}

absl::Status LogWriter::CheckpointAll() {
  if (absl::Status status = RunCheckpoint(SQLITE_CHECKPOINT_TRUNCATE); !status.ok()) return status;
  RemoveCompanionsOnClose(*connection_);
  return absl::OkStatus();
}

}  // namespace stampgate
