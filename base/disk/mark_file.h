// The high-water mark of a log, in a separate file. When a log is opened, its owner compares the mark with the log to
// detect lost entries.
#ifndef STAMPGATE_BASE_DISK_MARK_FILE_H_
#define STAMPGATE_BASE_DISK_MARK_FILE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/disk/disk.h"
#include "base/disk/vfs_file.h"

namespace stampgate {

// The last entry of a log, and the digest of the log's content up to this entry.
struct HighWaterMark {
  uint64_t number = 0;
  std::array<uint8_t, 32> digest = {};

  friend bool operator==(const HighWaterMark&, const HighWaterMark&) = default;
};

// The file of a mark. The file has two slots for a mark, and writes alternate between these slots, so that a torn
// write does not damage the previous mark. Only one thread at a time may use a MarkFile.
class MarkFile {
 public:
  using LogId = std::array<uint8_t, 16>;

  // Opens or creates the mark file at `path`, which is the path of the log's file followed by a suffix that begins with
  // "-", such as "events.db-mark". The log's file must exist. Ignores a mark that was written for a log with another
  // id. `disk` must outlive this object.
  //
  // Errors: kUnavailable if the mark file cannot be read or written; kResourceExhausted if the disk has no space for
  // the mark file; kDataLoss if both slots are damaged.
  static absl::StatusOr<MarkFile> Open(const std::string& path, const LogId& log, Disk& disk);

  // Returns the mark on the disk, or nothing if the disk has no mark of this log.
  const std::optional<HighWaterMark>& mark() const { return mark_; }

  // Replaces the mark. If this returns OK, the disk has the new mark. Returns kResourceExhausted if the disk has no
  // space. In this case the previous mark remains, and a retry can succeed. Returns kUnavailable for other failures. In
  // this case write nothing more, because the system might have dropped pages that it could not write.
  absl::Status Replace(const HighWaterMark& mark);

 private:
  MarkFile(VfsFile file, const LogId& log) : file_(std::move(file)), log_(log) {}

  absl::Status Read();

  VfsFile file_;
  LogId log_;
  std::optional<HighWaterMark> mark_;
  uint64_t writes_ = 0;  // number of the write that wrote the current mark, to slot writes_ % 2
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_DISK_MARK_FILE_H_
