#include "gateway/store/sqlite/timestamp_mark.h"

#include <algorithm>

namespace stampgate {

absl::StatusOr<TimestampMark> TimestampMark::Open(const std::string& path, const MarkFile::LogId& store, Disk& disk,
                                                  Past past, absl::Time now) {
  absl::StatusOr<MarkFile> file = MarkFile::Open(path, store, disk);
  if (!file.ok()) return file.status();
  const bool marked = file->mark().has_value();
  uint64_t ms = marked ? file->mark()->number : 0;
  if (past == Past::kUnknown || (past == Past::kMarked && !marked)) {
    ms = std::max(ms, static_cast<uint64_t>(absl::ToUnixMillis(now + kUncertain)));
  }
  TimestampMark mark(*std::move(file));
  if (marked && ms == mark.ms()) return mark;
  // Writes the mark to both of its places in the file, which reserves their disk space.
  for (int place = 0; place < 2; ++place) {
    if (absl::Status status = mark.Set(ms); !status.ok()) return status;
  }
  return mark;
}

absl::Status TimestampMark::Set(uint64_t ms) { return file_.Replace({.number = ms, .digest = {}}); }

}  // namespace stampgate
