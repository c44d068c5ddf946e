// How far a log has come, in a file of its own: what a crash takes from the log's files shows against it.
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

// The last entry of a log, and what stands for the content of the log up to it.
struct HighWaterMark {
  uint64_t number = 0;
  std::array<uint8_t, 32> digest = {};

  friend bool operator==(const HighWaterMark&, const HighWaterMark&) = default;
};

// One thread at a time. The file has two places that are written in turns, so that a torn write leaves the mark before.
class MarkFile {
 public:
  using LogId = std::array<uint8_t, 16>;

  // Opens or makes the file. Its name is that of the log's file, which is there, and a suffix that begins with "-":
  // such as "events.db-mark". A mark that was left by a log of another id counts for nothing. `disk` outlives the file.
  //
  // Errors: kUnavailable if the file cannot be read or written, kResourceExhausted if the disk has no room for it;
  // kDataLoss if it holds something, and no place is whole.
  static absl::StatusOr<MarkFile> Open(const std::string& path, const LogId& log, Disk& disk);

  // The mark that is on the disk; nothing if there is none of this log.
  const std::optional<HighWaterMark>& mark() const { return mark_; }

  // Replaces the mark; durable when this returns OK. Errors: kResourceExhausted if the disk has no room: the mark
  // before still stands, and a later call may succeed. kUnavailable, after which nothing may be written any more, since
  // the system may have dropped what it could not write.
  absl::Status Replace(const HighWaterMark& mark);

 private:
  MarkFile(VfsFile file, const LogId& log) : file_(std::move(file)), log_(log) {}

  absl::Status Read();

  VfsFile file_;
  LogId log_;
  std::optional<HighWaterMark> mark_;
  uint64_t writes_ = 0;  // of the mark that is there; the place is writes_ % 2
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_DISK_MARK_FILE_H_
