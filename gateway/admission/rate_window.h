// Counts the requests to upstream in a sliding window, so that they stay within a limit of upstream.
#ifndef STAMPGATE_GATEWAY_ADMISSION_RATE_WINDOW_H_
#define STAMPGATE_GATEWAY_ADMISSION_RATE_WINDOW_H_

#include <cstdint>
#include <deque>

#include "absl/time/time.h"

namespace stampgate {

// So many requests in any interval of this length.
struct RateLimit {
  int64_t requests = 1;  // at least 1
  absl::Duration per = absl::Seconds(1);
};

// A request counts from its admission, and leaves the window one length after it was sent, however long the call waited
// for the disk in between. The window is a little longer than the limit's interval, because the network delays each
// request differently. So upstream sees at most `requests` in each interval, whether its own window slides or not.
//
// A window of at most kLongestPaced is also paced: requests begin at even distances, except that after a pause a fifth
// of them may begin at once. Without this pacing, a window that was once used at its beginning would let all waiting
// calls begin at the beginning of each later interval. A longer window, such as a day, is a budget that may be used at
// any time.
//
// Times are of a clock that never goes back. Not thread-safe.
class RateWindow {
 public:
  static constexpr absl::Duration kLongestPaced = absl::Seconds(10);

  explicit RateWindow(const RateLimit& limit);

  // Returns the time from which `count` further requests fit if they wait and nothing else begins. `count` is at least
  // 1. None of them begins before `from`.
  absl::Time When(int64_t count, absl::Time from) const;

  // A request is admitted. Then either Sent or Withdraw must be called for it. If the request has waited, only a tenth
  // of the window may begin at once.
  void Begin(absl::Time now, bool waited);
  void Sent(absl::Time now);
  void Withdraw();

  // Sets the part of the limit that this process may use, from 0 to 1. Of n requests, the process uses the integer part
  // of n times the share. If that is 0, the process sends one request in a longer interval. The number of requests that
  // may begin at once does not change with the share, because another process can have used its share just now.
  void SetShare(double share, absl::Time now);

  // Whether `count` waiting requests, or as many as may begin at once, need not wait for each other now.
  bool HasPlaces(int64_t count, absl::Time now) const;

  // Replaces the limit. The requests that were sent or admitted still count.
  void SetLimit(const RateLimit& limit);

  // Sets by what factor a paced window is slower than its limit, such as 0.5, which doubles its length. A
  // factor above 1 makes the window faster.
  void SetSpeed(double speed);

  // Sets how many requests of others upstream has counted in its window at `now`. They count for one length.
  void SetOthers(int64_t requests, absl::Time now);

  // Returns the number of requests in the window, without those of others.
  int64_t used(absl::Time now);

  // Returns whether the window is as if it was new.
  bool IsEmpty(absl::Time now) { return used(now) == 0; }

  // Returns how many requests fit into a second in the long run.
  double PerSecond(absl::Time now) const;

  const RateLimit& limit() const { return limit_; }

 private:
  // Requests that were sent in nearly the same moment.
  struct Slot {
    absl::Time first;
    absl::Time last;
    int64_t requests;
  };

  bool IsPaced() const { return limit_.per <= kLongestPaced; }
  // Returns the largest number of requests in the window now.
  int64_t Capacity(absl::Time now) const;
  // Calculates the numbers that depend on the limit, the share and the speed.
  void Measure();
  void Forget(absl::Time now);

  RateLimit limit_;
  double share_ = 1;
  double speed_ = 1;
  int64_t others_ = 0;
  absl::Time others_until_ = absl::InfinitePast();
  int64_t unsent_ = 0;
  int64_t sent_ = 0;  // the sum of the slots
  std::deque<Slot> slots_;
  absl::Time next_ = absl::InfinitePast();  // before this time, no further request begins
  int64_t capacity_ = 1;                    // without the requests of others
  absl::Duration length_;
  absl::Duration distance_;   // between two requests
  absl::Duration tolerance_;  // by how much a request may begin before its time after a pause
  absl::Duration catch_up_;   // the same for a request that has waited
  absl::Duration slot_;       // the length of a slot
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_RATE_WINDOW_H_
