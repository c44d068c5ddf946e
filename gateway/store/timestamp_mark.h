// How far timestamps have been given out, in a separate file.
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

// The file is overwritten in place, so that a full disk does not stop it. One thread at a time.
class TimestampMark {
 public:
  // How much is known about earlier timestamps.
  enum class Past {
    kNone,     // if there is no mark, there are none
    kMarked,   // if there is a mark, they are below it
    kUnknown,  // the file may be older than the last timestamp
  };

  // Opens or creates the file for the store of this id. If the past is uncertain, raises the mark to kUncertain after
  // `now`. Errors: those of MarkFile.
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
