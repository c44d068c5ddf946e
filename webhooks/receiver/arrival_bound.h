// When the next bytes of a body must arrive at the latest, so that the body has the least speed.
#ifndef STAMPGATE_WEBHOOKS_RECEIVER_ARRIVAL_BOUND_H_
#define STAMPGATE_WEBHOOKS_RECEIVER_ARRIVAL_BOUND_H_

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace stampgate {

// Not thread-safe. The bytes that arrive move the bound by the time that they may need at the least speed, but never
// further than kGrace ahead. So a sender may pause for kGrace, but cannot pause for longer because it was fast before.
class ArrivalBound {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Longer than TCP takes to repeat lost bytes twice, which it usually does after 1 s and after 2 s more.
  static constexpr std::chrono::seconds kGrace{5};

  ArrivalBound(Time now, size_t bytes_per_second) : bytes_per_second_(bytes_per_second), bound_(now + kGrace) {}

  void Received(size_t bytes, Time now) {
    const std::chrono::duration<double> needed(static_cast<double>(bytes) / static_cast<double>(bytes_per_second_));
    // Compares before the conversion, which a long duration would overflow.
    bound_ = needed >= kGrace ? now + kGrace
                              : std::min(now + kGrace, bound_ + std::chrono::duration_cast<Time::duration>(needed));
  }

  Time bound() const { return bound_; }

 private:
  size_t bytes_per_second_;
  Time bound_;
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_RECEIVER_ARRIVAL_BOUND_H_
