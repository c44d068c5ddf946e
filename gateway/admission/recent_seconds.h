// Counts events of the last ten seconds.
#ifndef STAMPGATE_GATEWAY_ADMISSION_RECENT_SECONDS_H_
#define STAMPGATE_GATEWAY_ADMISSION_RECENT_SECONDS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace stampgate {

// Counts events of `Kinds` kinds, in steps of a second: the oldest second is only partly within the last ten seconds.
// Times are of a clock that never goes back. Not thread-safe.
template <size_t Kinds>
class RecentSeconds {
 public:
  using Counts = std::array<int64_t, Kinds>;

  void Add(size_t kind, absl::Time now) {
    Second& second = seconds_[Index(now)];
    if (second.number != NumberOf(now)) second = {NumberOf(now), {}};
    ++second.counts[kind];
  }

  // Returns the number of events of each kind.
  Counts Sum(absl::Time now) const {
    Counts sum{};
    for (const Second& second : seconds_) {
      if (second.number <= NumberOf(now) - static_cast<int64_t>(kSeconds)) continue;
      for (size_t kind = 0; kind < Kinds; ++kind) sum[kind] += second.counts[kind];
    }
    return sum;
  }

  void Clear() { seconds_ = {}; }

 private:
  static constexpr size_t kSeconds = 10;

  struct Second {
    int64_t number = INT64_MIN / 2;
    Counts counts{};
  };

  static int64_t NumberOf(absl::Time time) { return absl::ToUnixSeconds(time); }
  static size_t Index(absl::Time time) { return static_cast<size_t>(NumberOf(time)) % kSeconds; }

  std::array<Second, kSeconds> seconds_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_RECENT_SECONDS_H_
