// The high-water mark of a log, in a separate file: it reveals what a crash has removed from the log.
#ifndef STAMPGATE_WEBHOOKS_DISK_MARK_FILE_H_
#define STAMPGATE_WEBHOOKS_DISK_MARK_FILE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "webhooks/disk/disk.h"
#include "webhooks/disk/vfs_file.h"

namespace stampgate {

// The last entry of a log, and the digest of the log's content up to it.
struct HighWaterMark {
  uint64_t number = 0;
  std::array<uint8_t, 32> digest = {};

  friend bool operator==(const HighWaterMark&, const HighWaterMark&) = default;
};

// One thread at a time. The file has two places that are written alternately, so that a torn write leaves the previous
// mark.
class MarkFile {
 public:
  using LogId = std::array<uint8_t, 16>;

  // Opens or creates the file. Its name is that of the log's file, which must exist, and a suffix that begins with "-",
  // such as "events.db-mark". A mark that a log of another id has written is ignored. `disk` must outlive this.
  //
  // Errors: kUnavailable if the file cannot be read or written, kResourceExhausted if the disk has no space for it;
  // kDataLoss if it is not empty and both places are damaged.
  static absl::StatusOr<MarkFile> Open(const std::string& path, const LogId& log, Disk& disk);

  // The mark on the disk; nothing if there is none of this log.
  const std::optional<HighWaterMark>& mark() const { return mark_; }

  // Replaces the mark; durable when this returns OK. Errors: kResourceExhausted if the disk has no space: the previous
  // mark stays, and a later call may succeed. kUnavailable: write nothing more, since the system may have dropped the
  // pages that it could not write.
  absl::Status Replace(const HighWaterMark& mark);

 private:
  MarkFile(VfsFile file, const LogId& log) : file_(std::move(file)), log_(log) {}

  absl::Status Read();

  VfsFile file_;
  LogId log_;
  std::optional<HighWaterMark> mark_;
  uint64_t writes_ = 0;  // number of the current mark's write; its place is writes_ % 2
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_MARK_FILE_H_
