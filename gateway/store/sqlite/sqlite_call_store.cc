#include "gateway/store/sqlite/sqlite_call_store.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "base/disk/exclusive_file.h"
#include "gateway/store/call_step.h"
#include "gateway/store/sqlite/call_file.h"
#include "gateway/store/sqlite/call_writer.h"
#include "gateway/store/sqlite/timestamp_mark.h"

namespace stampgate {
namespace {

class SqliteBackend final : public CallBackend {
 public:
  SqliteBackend(std::optional<ExclusiveFile> file, std::unique_ptr<CallWriter> writer, TimestampMark timestamps,
                std::function<absl::Time()> now)
      : file_(std::move(file)),
        writer_(std::move(writer)),
        timestamps_(std::move(timestamps)),
        floor_ms_(timestamps_.ms()),
        now_(std::move(now)) {}

  uint64_t timestamp_floor_ms() const override { return floor_ms_; }
  std::optional<TimestampLease> lease() const override { return std::nullopt; }
  int64_t keys() const override { return writer_->state().keys; }

  absl::Status Store(const std::vector<const CallStep*>& steps, OnDecided on_decided,
                     std::vector<Answer>* answers) override {
    return writer_->Store(steps, now_(), on_decided, answers);
  }

  absl::StatusOr<bool> Tidy() override { return writer_->Tidy(now_()); }

  absl::Status Settle() override { return writer_->Checkpoint(); }

  absl::Status RaiseTimestamps(uint64_t ms) override {
    return ms > timestamps_.ms() ? timestamps_.Set(ms) : absl::OkStatus();
  }

  absl::Status Close(uint64_t next_timestamp_ms) override {
    ABSL_RETURN_IF_ERROR(writer_->CheckpointAll());
    if (next_timestamp_ms >= timestamps_.ms()) return absl::OkStatus();
    const absl::Status status = timestamps_.Set(next_timestamp_ms);
    return CanGoOn(status) ? absl::OkStatus() : status;
  }

 private:
  const std::optional<ExclusiveFile> file_;
  const std::unique_ptr<CallWriter> writer_;
  TimestampMark timestamps_;
  const uint64_t floor_ms_;
  const std::function<absl::Time()> now_;
};

absl::StatusOr<std::unique_ptr<CallStore>> Open(SqliteCallStoreOptions options) {
  std::optional<ExclusiveFile> file;
  if (options.disk->vfs().empty()) {
    ABSL_ASSIGN_OR_RETURN(ExclusiveFile claimed, ClaimCallFile(options.path));
    file = std::move(claimed);
  }
  CallWriter::Options settings;
  settings.path = options.path;
  settings.disk = options.disk;
  settings.key_retention = options.key_retention;
  settings.max_keys = options.max_keys;
  settings.checkpoint_pages = options.checkpoint_pages;
  settings.synchronous_full = options.synchronous_full;
  const absl::Time now = options.now();
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallWriter> writer, CallWriter::Open(settings, now));
  const absl::Status loss = writer->loss();
  const TimestampMark::Past past = !loss.ok()         ? TimestampMark::Past::kUnknown
                                   : writer->is_new() ? TimestampMark::Past::kNone
                                                      : TimestampMark::Past::kMarked;
  // The timestamps are opened before Start, because no later Open detects a loss once Start has recorded it. If the
  // timestamps cannot be opened, the next Open must detect the loss again.
  ABSL_ASSIGN_OR_RETURN(TimestampMark timestamps, TimestampMark::Open(absl::StrCat(options.path, kTimestampMarkSuffix),
                                                                      writer->state().id, *options.disk, past, now));
  ABSL_RETURN_IF_ERROR(writer->Start(now));
  if (!loss.ok() && options.on_loss) options.on_loss(loss);
  auto backend =
      std::make_unique<SqliteBackend>(std::move(file), std::move(writer), std::move(timestamps), options.now);
  return MakeQueuedCallStore(std::move(options.queue), std::move(backend));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CallStore>> OpenSqliteCallStore(SqliteCallStoreOptions options) {
  const std::string path = options.path;
  absl::StatusOr<std::unique_ptr<CallStore>> store = Open(std::move(options));
  if (store.ok()) return store;
  absl::StatusCode code = store.status().code();
  // A missing table (kInternal) means that the store is damaged. Other failures may be temporary.
  if (code == absl::StatusCode::kInternal) code = absl::StatusCode::kDataLoss;
  if (code != absl::StatusCode::kFailedPrecondition && code != absl::StatusCode::kDataLoss) {
    code = absl::StatusCode::kUnavailable;
  }
  return absl::Status(code, absl::StrCat("call store ", path, ": ", store.status().message()));
}

}  // namespace stampgate
