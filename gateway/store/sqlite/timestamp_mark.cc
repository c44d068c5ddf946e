#include "gateway/store/sqlite/timestamp_mark.h"

#include <algorithm>

#include "absl/status/status_macros.h"

namespace stampgate {

absl::StatusOr<TimestampMark> TimestampMark::Open(const std::string& path, const MarkFile::LogId& store, Disk& disk,
                                                  Past past, absl::Time now) {
  ABSL_ASSIGN_OR_RETURN(MarkFile file, MarkFile::Open(path, store, disk));
  const bool marked = file.mark().has_value();
  uint64_t ms = marked ? file.mark()->number : 0;
  if (past == Past::kUnknown || (past == Past::kMarked && !marked)) {
    ms = std::max(ms, static_cast<uint64_t>(absl::ToUnixMillis(now + kUncertain)));
  }
  TimestampMark mark(std::move(file));
  if (marked && ms == mark.ms()) return mark;
  // Writes the mark to both of its places in the file, which reserves their disk space.
  for (int place = 0; place < 2; ++place) {
    ABSL_RETURN_IF_ERROR(mark.Set(ms));
  }
  return mark;
}

absl::Status TimestampMark::Set(uint64_t ms) { return file_.Replace({.number = ms, .digest = {}}); }

}  // namespace stampgate
