// A file that holds the upper bound of the timestamps that the gateway has used.
#ifndef STAMPGATE_GATEWAY_STORE_SQLITE_TIMESTAMP_MARK_H_
#define STAMPGATE_GATEWAY_STORE_SQLITE_TIMESTAMP_MARK_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/disk/disk.h"
#include "base/disk/mark_file.h"

namespace stampgate {

// Overwrites the file in place, so that a write succeeds even if the disk is full. Only one thread may use this object
// at a time.
class TimestampMark {
 public:
  // What is known about the timestamps that were used before Open.
  enum class Past {
    kNone,     // no timestamp was used unless the file has a mark
    kMarked,   // the file should have a mark; if it has one, all used timestamps are below the mark
    kUnknown,  // the file is possibly outdated, so used timestamps can be above its mark
  };

  // Opens or creates the file for the store whose id is `store`. Raises the bound to at least `now` + kUncertain if
  // `past` is kUnknown, or if `past` is kMarked and the file has no mark. Errors: those of MarkFile.
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

#endif  // STAMPGATE_GATEWAY_STORE_SQLITE_TIMESTAMP_MARK_H_
