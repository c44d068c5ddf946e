// A file that holds the upper bound of the timestamps that the gateway has used.
#ifndef STAMPGATE_GATEWAY_STORE_TIMESTAMP_MARK_H_
#define STAMPGATE_GATEWAY_STORE_TIMESTAMP_MARK_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "webhooks/disk/disk.h"
#include "webhooks/disk/mark_file.h"

namespace stampgate {

// Writes overwrite the file in place, so that they succeed on a full disk. One thread at a time.
class TimestampMark {
 public:
  // What is known about the timestamps that were used before Open.
  enum class Past {
    kNone,     // if the file has no mark, no timestamp was used
    kMarked,   // if the file has a mark, all used timestamps are below it
    kUnknown,  // the file may be outdated, so used timestamps may be above its mark
  };

  // Opens or creates the file for the store of this id. Raises the mark to at least `now` + kUncertain if `past` is
  // kUnknown, or if it is kMarked and the file has no mark. Errors: those of MarkFile.
  static absl::StatusOr<TimestampMark> Open(const std::string& path, const MarkFile::LogId& store, Disk& disk,
                                            Past past, absl::Time now);
  static constexpr absl::Duration kUncertain = absl::Seconds(31);

  // Returns the bound, in milliseconds since 1970: all used timestamps are below it. Returns 0 for a new store.
  uint64_t ms() const { return file_.mark()->number; }

  // Replaces the bound. If this returns OK, the new bound is on the disk. Errors: those of MarkFile::Replace.
  absl::Status Set(uint64_t ms);

 private:
  explicit TimestampMark(MarkFile file) : file_(std::move(file)) {}

  MarkFile file_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_TIMESTAMP_MARK_H_
