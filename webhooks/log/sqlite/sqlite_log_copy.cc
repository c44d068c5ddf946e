#include "webhooks/log/sqlite/sqlite_log_copy.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/disk/disk.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/mark_file.h"
#include "base/disk/sqlite.h"
#include "webhooks/log/sqlite/event_table.h"
#include "webhooks/log/sqlite/migration.h"
#include "webhooks/log/sqlite/reader.h"
#include "webhooks/log/sqlite/recovery.h"
#include "webhooks/log/sqlite/schema.h"
#include "webhooks/log/sqlite/seen_table.h"
#include "webhooks/log/sqlite/subscription_table.h"
#include "webhooks/log/sqlite/writer.h"
#include "webhooks/log/subscription_store.h"

namespace stampgate {
namespace {

constexpr int64_t kIdsPerBatch = 2000;

class SqliteLogSource final : public LogSource {
 public:
  static absl::StatusOr<std::unique_ptr<LogSource>> Open(const std::string& path, absl::Time now) {
    // Before ClaimLogFile, which creates other files beside the file.
    ABSL_RETURN_IF_ERROR(CheckLogFileHeader(path));
    ABSL_ASSIGN_OR_RETURN(ExclusiveFile file, ClaimLogFile(path));
    ABSL_RETURN_IF_ERROR(SettleLogFile(path, Disk::System()));
    LogWriter::Options options;
    options.path = path;
    options.disk = &Disk::System();
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<LogWriter> writer, LogWriter::Open(options, now));
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<LogReader> reader, LogReader::Open(path, /*vfs=*/"", /*visible=*/nullptr));
    const absl::Status recovered = RecoverLog(options.safeguards, {}, now, *reader, *writer);
    if (!recovered.ok()) return recovered;
    ABSL_ASSIGN_OR_RETURN(SqliteConnection connection, OpenLogFileToRead(path, /*vfs=*/""));
    ABSL_ASSIGN_OR_RETURN(SubscriptionStates subscriptions, ReadSubscriptions(connection, writer->state().identity));
    ABSL_ASSIGN_OR_RETURN(
        SqliteStatement ids,
        SqliteStatement::Prepare(
            connection,
            "SELECT event_id, scope, seq, body_sha256, stored_us FROM seen WHERE seq > ?1 ORDER BY seq LIMIT ?2"));
    std::unique_ptr<SqliteLogSource> source(new SqliteLogSource(std::move(file), std::move(connection)));
    source->state_ = writer->state();
    source->reader_ = std::move(reader);
    source->ids_ = std::move(ids);
    source->subscriptions_ = std::move(subscriptions);
    return source;
  }

  const LogState& state() const override { return state_; }
  EventReader& reader() override { return *reader_; }

  absl::StatusOr<std::vector<StoredId>> IdsAfter(Position after) override {
    std::vector<StoredId> ids;
    SqliteReset reset(ids_);
    ids_.Bind(1, after);
    ids_.Bind(2, kIdsPerBatch);
    for (;;) {
      ABSL_ASSIGN_OR_RETURN(const bool row, ids_.Step());
      if (!row) return ids;
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

  absl::StatusOr<SubscriptionStates> Subscriptions() override { return subscriptions_; }

 private:
  // Reads the subscriptions before a copy begins, so that damage leaves its target unused.
  static absl::StatusOr<SubscriptionStates> ReadSubscriptions(SqliteConnection& connection, const LogIdentity& log) {
    ABSL_ASSIGN_OR_RETURN(SubscriptionStates states, LoadSubscriptions(connection, log));
    for (const auto& [name, state] : states) {
      if (state.damage.empty()) continue;
      return absl::DataLossError(
          absl::StrCat("the shared subscription ", absl::CHexEscape(name), " is damaged: ", state.damage,
                       "; start the gateway without it in the config, and run `stampgate subscriptions delete ",
                       absl::CHexEscape(name), "`"));
    }
    return states;
  }

  SqliteLogSource(ExclusiveFile file, SqliteConnection connection)
      : file_(std::move(file)), connection_(std::move(connection)) {}

  const ExclusiveFile file_;
  SqliteConnection connection_;
  LogState state_;
  std::unique_ptr<LogReader> reader_;
  SqliteStatement ids_;
  SubscriptionStates subscriptions_;
};

class SqliteLogTarget final : public LogTarget {
 public:
  static absl::StatusOr<std::unique_ptr<LogTarget>> Create(const std::string& path, const LogIdentity& log) {
    ABSL_ASSIGN_OR_RETURN(ExclusiveFile file, ClaimLogFileForCopy(path));
    ABSL_ASSIGN_OR_RETURN(SqliteConnection connection, OpenLogFileToWrite(path, /*vfs=*/"", /*synchronous_full=*/true));
    ABSL_ASSIGN_OR_RETURN(EventTable table, EventTable::Open(connection));
    return std::unique_ptr<LogTarget>(
        new SqliteLogTarget(path, log, std::move(file), std::move(connection), std::move(table)));
  }

  absl::Status AddIds(const std::vector<StoredId>& ids) override {
    return InTransaction([this, &ids]() -> absl::Status {
      for (const StoredId& id : ids) {
        ABSL_RETURN_IF_ERROR(table_.AddId(id));
      }
      return absl::OkStatus();
    });
  }

  absl::Status AddEvents(const std::vector<CopiedEvent>& events) override {
    return InTransaction([this, &events]() -> absl::Status {
      for (const CopiedEvent& event : events) {
        ABSL_RETURN_IF_ERROR(table_.Add(event.row, event.digest, event.body));
      }
      return absl::OkStatus();
    });
  }

  // Without subscriptions, the file keeps the version that earlier releases can use.
  absl::Status AddSubscriptions(const SubscriptionStates& states) override {
    if (states.empty()) return absl::OkStatus();
    return InTransaction([this, &states]() -> absl::Status {
      ABSL_RETURN_IF_ERROR(MigrateFromVersion3(connection_));
      ABSL_ASSIGN_OR_RETURN(SubscriptionTable table, SubscriptionTable::Open(connection_, log_));
      for (const auto& [name, state] : states) {
        ABSL_RETURN_IF_ERROR(table.Apply({.subscription = name,
                                          .head = state.head,
                                          .put = state.rows,
                                          .put_lagging = {state.lagging.begin(), state.lagging.end()}}));
      }
      return absl::OkStatus();
    });
  }

  absl::Status Finish(const LogState& state) override {
    ABSL_ASSIGN_OR_RETURN(MarkFile marks, MarkFile::Open(path_ + "-mark", state.identity.id, Disk::System()));
    const absl::Status status = marks.Replace({static_cast<uint64_t>(state.latest), state.latest_digest});
    if (!status.ok()) return status;
    return InTransaction([this, &state]() -> absl::Status {
      ABSL_ASSIGN_OR_RETURN(LogStateWriter writer, LogStateWriter::Open(connection_));
      ABSL_RETURN_IF_ERROR(writer.Write(state));
      return SetLastPosition(connection_, state.latest);
    });
  }

 private:
  SqliteLogTarget(std::string path, const LogIdentity& log, ExclusiveFile file, SqliteConnection connection,
                  EventTable table)
      : path_(std::move(path)),
        log_(log),
        file_(std::move(file)),
        connection_(std::move(connection)),
        table_(std::move(table)) {}

  // After an error, nobody uses the file.
  template <typename Change>
  absl::Status InTransaction(Change change) {
    ABSL_RETURN_IF_ERROR(connection_.Run("BEGIN IMMEDIATE"));
    ABSL_RETURN_IF_ERROR(change());
    return connection_.Run("COMMIT");
  }

  const std::string path_;
  const LogIdentity log_;
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

absl::StatusOr<std::unique_ptr<LogTarget>> CreateSqliteLogTarget(const std::string& path, const LogIdentity& log) {
  absl::StatusOr<std::unique_ptr<LogTarget>> target = SqliteLogTarget::Create(path, log);
  if (!target.ok()) return WithPath(path, target.status());
  return target;
}

absl::Status OpenCopiedLog(const std::string& path) {
  absl::Status status = EndCopy(path);
  return status.ok() ? status : WithPath(path, status);
}

}  // namespace stampgate
