// How far timestamps have been given out, in a file of its own.
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

// The file is written in place, so that a full disk does not stop it. One thread at a time.
class TimestampMark {
 public:
  // What is known about earlier timestamps.
  enum class Past {
    kNone,     // there is none, if there is no mark
    kMarked,   // it is below the mark, if there is one
    kUnknown,  // whatever the mark says: the file may be older than the last timestamp
  };

  // Opens or makes the file, for the store of this id. Where the past is not certain, the mark goes to kUncertain after
  // `now`, unless it is higher. Errors: those of MarkFile.
  static absl::StatusOr<TimestampMark> Open(const std::string& path, const MarkFile::LogId& store, Disk& disk,
                                            Past past, absl::Time now);
  static constexpr absl::Duration kUncertain = absl::Seconds(31);

  // Every timestamp that was given out is below this, in milliseconds since 1970; 0 for a new store.
  uint64_t ms() const { return file_.mark()->number; }

  // Durable when this returns OK. Errors: those of MarkFile::Replace.
  absl::Status Set(uint64_t ms);

 private:
  explicit TimestampMark(MarkFile file) : file_(std::move(file)) {}

  MarkFile file_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_STORE_TIMESTAMP_MARK_H_
