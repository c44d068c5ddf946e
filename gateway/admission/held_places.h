// Counts the calls that hold a place, and measures for how long they hold it.
#ifndef STAMPGATE_GATEWAY_ADMISSION_HELD_PLACES_H_
#define STAMPGATE_GATEWAY_ADMISSION_HELD_PLACES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace stampgate {

// Times are of a clock that never goes back. Not thread-safe.
class HeldPlaces {
 public:
  // HoldTime until a call has given its place back, and the largest value of HoldTime: a caller that is refused should
  // not stay away for long because of an estimate.
  static constexpr absl::Duration kFirstHoldTime = absl::Milliseconds(100);
  static constexpr absl::Duration kLongestHoldTime = absl::Seconds(10);

  void Take(absl::Time now) {
    ++count_;
    taken_ += now - absl::UnixEpoch();
  }

  // `taken` is the time at which the call took its place.
  void GiveBack(absl::Time taken, absl::Time now) {
    --count_;
    taken_ -= taken - absl::UnixEpoch();
    const absl::Duration held = now - taken;
    mean_ = is_measured_ ? mean_ + (held - mean_) / kMemory : held;
    is_measured_ = true;
  }

  size_t count() const { return count_; }

  // Returns for how long a call holds its place: the mean of about the last kMemory calls or, if that is longer, of the
  // times for which the present calls hold theirs already.
  absl::Duration HoldTime(absl::Time now) const {
    absl::Duration time = mean_;
    if (count_ > 0) time = std::max(time, now - absl::UnixEpoch() - taken_ / static_cast<int64_t>(count_));
    return std::min(time, kLongestHoldTime);
  }

 private:
  static constexpr int64_t kMemory = 8;

  size_t count_ = 0;
  absl::Duration taken_;  // the sum of the times at which the present calls took their places, since 1970
  absl::Duration mean_ = kFirstHoldTime;
  bool is_measured_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_HELD_PLACES_H_
