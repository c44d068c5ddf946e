#include "gateway/store/sqlite/sqlite_call_copy.h"

#include <sodium.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/disk/disk.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/mark_file.h"
#include "base/disk/sqlite.h"
#include "gateway/store/sqlite/call_file.h"
#include "gateway/store/sqlite/call_table.h"
#include "gateway/store/sqlite/call_writer.h"
#include "gateway/store/sqlite/store_state.h"
#include "gateway/store/sqlite/timestamp_mark.h"

namespace stampgate {
namespace {

class SqliteCallSource final : public CallSource {
 public:
  static absl::StatusOr<std::unique_ptr<CallSource>> Open(const std::string& path, absl::Time now) {
    // Before ClaimCallFile, which creates other files beside the file.
    ABSL_RETURN_IF_ERROR(CheckCallFileHeader(path));
    ABSL_ASSIGN_OR_RETURN(ExclusiveFile file, ClaimCallFile(path));
    CallWriter::Options options;
    options.path = path;
    options.disk = &Disk::System();
    options.now = [now] { return now; };
    ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallWriter> writer, CallWriter::Open(std::move(options)));
    ABSL_RETURN_IF_ERROR(writer->Start());
    const StoreState state = writer->state();
    ABSL_ASSIGN_OR_RETURN(SqliteConnection connection,
                          OpenCallFile(path, /*vfs=*/"", /*synchronous_full=*/true, state));
    ABSL_ASSIGN_OR_RETURN(CallTable table, CallTable::Open(connection, state.id));
    std::unique_ptr<SqliteCallSource> source(
        new SqliteCallSource(std::move(file), std::move(connection), std::move(table)));
    source->outline_ = {state.clock, state.distrusted_age_us, writer->timestamp_floor_ms()};
    return source;
  }

  const CallStoreOutline& outline() const override { return outline_; }

  absl::StatusOr<std::vector<CallRow>> Next() override {
    absl::StatusOr<std::vector<CallRow>> rows = table_.RowsAfter(last_number_, kCopiedRows);
    if (rows.ok() && !rows->empty()) last_number_ = rows->back().number;
    return rows;
  }

 private:
  SqliteCallSource(ExclusiveFile file, SqliteConnection connection, CallTable table)
      : file_(std::move(file)), connection_(std::move(connection)), table_(std::move(table)) {}

  const ExclusiveFile file_;
  const SqliteConnection connection_;
  CallTable table_;
  CallStoreOutline outline_;
  int64_t last_number_ = 0;
};

// One transaction adds all rows.
class SqliteCallTarget final : public CallTarget {
 public:
  static absl::StatusOr<std::unique_ptr<CallTarget>> Create(const std::string& path, absl::Time now) {
    if (sodium_init() < 0) return absl::InternalError("libsodium does not start");
    ABSL_ASSIGN_OR_RETURN(ExclusiveFile file, ClaimCallFileForCopy(path));
    const StoreState state = MakeStoreState(now, /*distrusted=*/true);
    ABSL_ASSIGN_OR_RETURN(SqliteConnection connection,
                          OpenCallFile(path, /*vfs=*/"", /*synchronous_full=*/true, state));
    ABSL_ASSIGN_OR_RETURN(CallTable table, CallTable::Open(connection, state.id));
    ABSL_RETURN_IF_ERROR(connection.Run("BEGIN IMMEDIATE"));
    return std::unique_ptr<CallTarget>(
        new SqliteCallTarget(path, std::move(file), std::move(connection), std::move(table), state.id, now));
  }

  absl::Status Add(const std::vector<CallRow>& rows) override {
    for (CallRow row : rows) {
      // Retention deletes the rows with the lowest numbers, so the numbers follow the ages.
      row.number = static_cast<int64_t>(ages_us_.size()) + 1;
      ages_us_.push_back(row.stored_age_us);
      ABSL_RETURN_IF_ERROR(table_.Put(row));
    }
    return absl::OkStatus();
  }

  absl::Status Finish(const CallStoreOutline& outline) override {
    StoreState state;
    state.id = id_;
    state.commit = 1;
    randombytes_buf(state.commit_id.data(), state.commit_id.size());
    state.keys = state.last_number = static_cast<int64_t>(ages_us_.size());
    state.clock = outline.clock;
    state.distrusted_age_us = outline.distrusted_age_us;
    state.distrusted_through =
        std::upper_bound(ages_us_.begin(), ages_us_.end(), outline.distrusted_age_us) - ages_us_.begin();
    ABSL_ASSIGN_OR_RETURN(StoreStateRow row, StoreStateRow::Open(connection_));
    ABSL_RETURN_IF_ERROR(row.Write(state));
    ABSL_ASSIGN_OR_RETURN(TimestampMark timestamps,
                          TimestampMark::Open(absl::StrCat(path_, kTimestampMarkSuffix), id_, Disk::System(),
                                              TimestampMark::Past::kNone, now_));
    ABSL_RETURN_IF_ERROR(timestamps.Set(outline.timestamp_bound_ms));
    ABSL_ASSIGN_OR_RETURN(MarkFile mark, MarkFile::Open(absl::StrCat(path_, kCommitMarkSuffix), id_, Disk::System()));
    // Writes the mark to both of its places in the file, which reserves their disk space.
    for (int place = 0; place < 2; ++place) {
      const absl::Status status = mark.Replace({static_cast<uint64_t>(state.commit), state.commit_id});
      if (!status.ok()) return status;
    }
    return connection_.Run("COMMIT");
  }

 private:
  SqliteCallTarget(std::string path, ExclusiveFile file, SqliteConnection connection, CallTable table,
                   const StoreId& id, absl::Time now)
      : path_(std::move(path)),
        file_(std::move(file)),
        connection_(std::move(connection)),
        table_(std::move(table)),
        id_(id),
        now_(now) {}

  const std::string path_;
  const ExclusiveFile file_;
  SqliteConnection connection_;
  CallTable table_;
  const StoreId id_;
  const absl::Time now_;
  std::vector<int64_t> ages_us_;  // of the rows, in the order of their numbers
};

absl::Status WithPath(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("call store ", path, ": ", status.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CallSource>> OpenSqliteCallSource(const std::string& path, absl::Time now) {
  absl::StatusOr<std::unique_ptr<CallSource>> source = SqliteCallSource::Open(path, now);
  if (!source.ok()) return WithPath(path, source.status());
  return source;
}

absl::StatusOr<std::unique_ptr<CallTarget>> CreateSqliteCallTarget(const std::string& path, absl::Time now) {
  absl::StatusOr<std::unique_ptr<CallTarget>> target = SqliteCallTarget::Create(path, now);
  if (!target.ok()) return WithPath(path, target.status());
  return target;
}

absl::Status OpenCopiedCalls(const std::string& path) {
  absl::Status status = EndCopy(path);
  return status.ok() ? status : WithPath(path, status);
}

}  // namespace stampgate
