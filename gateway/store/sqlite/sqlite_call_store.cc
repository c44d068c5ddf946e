#include "gateway/store/sqlite/sqlite_call_store.h"

#include <utility>

#include "absl/status/status_macros.h"
#include "absl/strings/str_cat.h"
#include "gateway/store/sqlite/call_file.h"
#include "gateway/store/sqlite/call_writer.h"

namespace stampgate {
namespace {

absl::StatusOr<std::unique_ptr<CallStore>> Open(SqliteCallStoreOptions options) {
  CallWriter::Options settings;
  settings.path = options.path;
  settings.disk = options.disk;
  settings.key_retention = options.key_retention;
  settings.max_keys = options.max_keys;
  settings.checkpoint_pages = options.checkpoint_pages;
  settings.synchronous_full = options.synchronous_full;
  settings.now = std::move(options.now);
  if (options.disk->vfs().empty()) {
    ABSL_ASSIGN_OR_RETURN(settings.claim, ClaimCallFile(options.path));
  }
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallWriter> writer, CallWriter::Open(std::move(settings)));
  ABSL_RETURN_IF_ERROR(writer->Start());
  if (!writer->loss().ok() && options.on_loss) options.on_loss(writer->loss());
  return MakeQueuedCallStore(std::move(options.queue), std::move(writer));
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
