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
  // The value of HoldTime before the first call has given its place back.
  static constexpr absl::Duration kFirstHoldTime = absl::Milliseconds(100);
  // The largest value of HoldTime. It bounds how long a refused caller stays away because of an estimate.
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

  // Returns the larger of two means: for how long about the last kMemory calls held their places, and for how long the
  // calls in flight have held theirs.
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
