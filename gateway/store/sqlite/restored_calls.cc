#include "gateway/store/sqlite/restored_calls.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/disk/disk.h"
#include "base/disk/exclusive_file.h"
#include "base/disk/mark_file.h"
#include "gateway/store/sqlite/call_file.h"
#include "gateway/store/sqlite/call_writer.h"

namespace stampgate {
namespace {

// If the mark file is damaged, removes it: a damaged mark file has no information and prevents the store from opening.
absl::Status RemoveIfDamaged(const std::string& mark_path) {
  const absl::StatusOr<MarkFile> mark = MarkFile::Open(mark_path, {}, Disk::System());
  if (!absl::IsDataLoss(mark.status())) return mark.status();
  if (unlink(mark_path.c_str()) == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(mark_path, " cannot be removed"));
}

absl::Status Mark(const std::string& path, absl::Time now) {
  // Checks the file first, because ClaimCallFile creates a lock file, and also creates the file at `path` if it does
  // not exist.
  ABSL_RETURN_IF_ERROR(CheckCallFileHeader(path));
  ABSL_ASSIGN_OR_RETURN(const ExclusiveFile file, ClaimCallFile(path));
  for (const char* suffix : {kCommitMarkSuffix, kTimestampMarkSuffix}) {
    ABSL_RETURN_IF_ERROR(RemoveIfDamaged(absl::StrCat(path, suffix)));
  }
  CallWriter::Options options;
  options.path = path;
  options.disk = &Disk::System();
  options.now = [now] { return now; };
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallWriter> writer, CallWriter::Open(std::move(options)));
  ABSL_RETURN_IF_ERROR(writer->Distrust());
  return writer->Close(writer->timestamp_floor_ms());
}

}  // namespace

absl::Status MarkCallsAsRestored(const std::string& path, absl::Time now) {
  const absl::Status status = Mark(path, now);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("call store ", path, ": ", status.message()));
}

}  // namespace stampgate
