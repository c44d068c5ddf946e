#include "webhooks/log/sqlite/sqlite_log_copy.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/disk/disk.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/mark_file.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/sqlite/event_table.h"
#include "webhooks/log/sqlite/reader.h"
#include "webhooks/log/sqlite/recovery.h"
#include "webhooks/log/sqlite/schema.h"
#include "webhooks/log/sqlite/seen_table.h"
#include "webhooks/log/sqlite/writer.h"

namespace stampgate {
namespace {

constexpr int64_t kIdsPerBatch = 2000;

class SqliteLogSource final : public LogSource {
 public:
  static absl::StatusOr<std::unique_ptr<LogSource>> Open(const std::string& path, absl::Time now) {
    // Before ClaimLogFile, which creates other files beside the file.
    if (absl::Status status = CheckLogFileHeader(path); !status.ok()) return status;
    absl::StatusOr<ExclusiveFile> file = ClaimLogFile(path);
    if (!file.ok()) return file.status();
    if (absl::Status status = SettleLogFile(path, Disk::System()); !status.ok()) return status;
    LogWriter::Options options;
    options.path = path;
    options.disk = &Disk::System();
    absl::StatusOr<std::unique_ptr<LogWriter>> writer = LogWriter::Open(options, now);
    if (!writer.ok()) return writer.status();
    absl::StatusOr<std::unique_ptr<LogReader>> reader = LogReader::Open(path, /*vfs=*/"", /*visible=*/nullptr);
    if (!reader.ok()) return reader.status();
    const absl::Status recovered = RecoverLog(options.safeguards, {}, now, **reader, **writer);
    if (!recovered.ok()) return recovered;
    absl::StatusOr<SqliteConnection> connection = OpenLogFileToRead(path, /*vfs=*/"");
    if (!connection.ok()) return connection.status();
    absl::StatusOr<SqliteStatement> ids = SqliteStatement::Prepare(
        *connection,
        "SELECT event_id, scope, seq, body_sha256, stored_us FROM seen WHERE seq > ?1 ORDER BY seq LIMIT ?2");
    if (!ids.ok()) return ids.status();
    std::unique_ptr<SqliteLogSource> source(new SqliteLogSource(*std::move(file), *std::move(connection)));
    source->record_ = (*writer)->record();
    source->reader_ = *std::move(reader);
    source->ids_ = *std::move(ids);
    return source;
  }

  const LogRecord& record() const override { return record_; }
  EventReader& reader() override { return *reader_; }

  absl::StatusOr<std::vector<StoredId>> IdsAfter(Position after) override {
    std::vector<StoredId> ids;
    SqliteReset reset(ids_);
    ids_.Bind(1, after);
    ids_.Bind(2, kIdsPerBatch);
    for (;;) {
      const absl::StatusOr<bool> row = ids_.Step();
      if (!row.ok()) return row.status();
      if (!*row) return ids;
      StoredId id;
      id.event_id = std::string(ids_.Bytes(0));
      id.position = ids_.Number(2);
      id.age_us = ids_.Number(4);
      absl::string_view scope = ids_.Bytes(1);
      if (!absl::ConsumePrefix(&scope, EncodeScope(""))) {
        return absl::FailedPreconditionError(
            absl::StrCat("the id of event ", id.position,
                         " has no organization, because an old version stored it; it"
                         " can be copied after events.deduplication_age, when the log has forgotten it"));
      }
      id.scope = std::string(scope);
      const absl::string_view sha256 = ids_.Bytes(3);
      std::copy_n(sha256.begin(), std::min(sha256.size(), id.body_sha256.size()), id.body_sha256.begin());
      ids.push_back(std::move(id));
    }
  }

 private:
  SqliteLogSource(ExclusiveFile file, SqliteConnection connection)
      : file_(std::move(file)), connection_(std::move(connection)) {}

  const ExclusiveFile file_;
  SqliteConnection connection_;
  LogRecord record_;
  std::unique_ptr<LogReader> reader_;
  SqliteStatement ids_;
};

class SqliteLogTarget final : public LogTarget {
 public:
  static absl::StatusOr<std::unique_ptr<LogTarget>> Create(const std::string& path) {
    absl::StatusOr<ExclusiveFile> file = ClaimLogFileForCopy(path);
    if (!file.ok()) return file.status();
    absl::StatusOr<SqliteConnection> connection = OpenLogFileToWrite(path, /*vfs=*/"", /*synchronous_full=*/true);
    if (!connection.ok()) return connection.status();
    absl::StatusOr<EventTable> table = EventTable::Open(*connection);
    if (!table.ok()) return table.status();
    return std::unique_ptr<LogTarget>(
        new SqliteLogTarget(path, *std::move(file), *std::move(connection), *std::move(table)));
  }

  absl::Status AddIds(const std::vector<StoredId>& ids) override {
    return InTransaction([this, &ids] {
      for (const StoredId& id : ids) {
        if (absl::Status status = table_.AddId(id); !status.ok()) return status;
      }
      return absl::OkStatus();
    });
  }

  absl::Status AddEvents(const std::vector<CopiedEvent>& events) override {
    return InTransaction([this, &events] {
      for (const CopiedEvent& event : events) {
        if (absl::Status status = table_.Add(event.row, event.digest, event.body); !status.ok()) return status;
      }
      return absl::OkStatus();
    });
  }

  absl::Status Finish(const LogRecord& record) override {
    absl::StatusOr<MarkFile> marks = MarkFile::Open(path_ + "-mark", record.identity.id, Disk::System());
    if (!marks.ok()) return marks.status();
    const absl::Status status = marks->Replace({static_cast<uint64_t>(record.latest), record.latest_digest});
    if (!status.ok()) return status;
    return InTransaction([this, &record]() -> absl::Status {
      absl::StatusOr<LogRecordWriter> writer = LogRecordWriter::Open(connection_);
      if (!writer.ok()) return writer.status();
      if (absl::Status status = writer->Write(record); !status.ok()) return status;
      return SetLastPosition(connection_, record.latest);
    });
  }

 private:
  SqliteLogTarget(std::string path, ExclusiveFile file, SqliteConnection connection, EventTable table)
      : path_(std::move(path)), file_(std::move(file)), connection_(std::move(connection)), table_(std::move(table)) {}

  // After an error, nobody uses the file.
  template <typename Change>
  absl::Status InTransaction(Change change) {
    if (absl::Status status = connection_.Run("BEGIN IMMEDIATE"); !status.ok()) return status;
    if (absl::Status status = change(); !status.ok()) return status;
    return connection_.Run("COMMIT");
  }

  const std::string path_;
  const ExclusiveFile file_;
  SqliteConnection connection_;
  EventTable table_;
};

absl::Status WithPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("event log ", path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogSource>> OpenSqliteLogSource(const std::string& path, absl::Time now) {
  absl::StatusOr<std::unique_ptr<LogSource>> source = SqliteLogSource::Open(path, now);
  if (!source.ok()) return WithPath(path, source.status());
  return source;
}

absl::StatusOr<std::unique_ptr<LogTarget>> CreateSqliteLogTarget(const std::string& path) {
  absl::StatusOr<std::unique_ptr<LogTarget>> target = SqliteLogTarget::Create(path);
  if (!target.ok()) return WithPath(path, target.status());
  return target;
}

absl::Status OpenCopiedLog(const std::string& path) {
  absl::Status status = EndCopy(path);
  return status.ok() ? status : WithPath(path, status);
}

}  // namespace stampgate
