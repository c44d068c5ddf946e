#include "gateway/store/sqlite/restored_calls.h"

#include <unistd.h>

#include <memory>

#include "absl/status/status_macros.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/disk/disk.h"
#include "base/disk/exclusive_file.h"
#include "gateway/store/sqlite/call_file.h"
#include "gateway/store/sqlite/call_writer.h"
#include "gateway/store/sqlite/timestamp_mark.h"

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
  const std::string timestamp_path = absl::StrCat(path, kTimestampMarkSuffix);
  for (const std::string& mark_path : {absl::StrCat(path, kCommitMarkSuffix), timestamp_path}) {
    ABSL_RETURN_IF_ERROR(RemoveIfDamaged(mark_path));
  }
  CallWriter::Options options;
  options.path = path;
  options.disk = &Disk::System();
  ABSL_ASSIGN_OR_RETURN(std::unique_ptr<CallWriter> writer, CallWriter::Open(options, now));
  ABSL_ASSIGN_OR_RETURN(
      const TimestampMark timestamps,
      TimestampMark::Open(timestamp_path, writer->state().id, Disk::System(), TimestampMark::Past::kUnknown, now));
  ABSL_RETURN_IF_ERROR(writer->Distrust(now));
  return writer->CheckpointAll();
}

}  // namespace

absl::Status MarkCallsAsRestored(const std::string& path, absl::Time now) {
  const absl::Status status = Mark(path, now);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("call store ", path, ": ", status.message()));
}

}  // namespace stampgate
