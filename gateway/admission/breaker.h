// A circuit breaker: while upstream fails, calls fail at once, without a stamp and without a request.
#ifndef STAMPGATE_GATEWAY_ADMISSION_BREAKER_H_
#define STAMPGATE_GATEWAY_ADMISSION_BREAKER_H_

#include <functional>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/admission/recent_seconds.h"
#include "gateway/metrics/registry.h"
#include "translate/upstream_outcome.h"

namespace stampgate {

// Opens if at least half of at least 20 exchanges in ten seconds have failed. While it is open, it lets one call
// through in each five seconds, as a probe; a probe that does not reach its exchange with upstream does not count. It
// closes when an exchange succeeds. Thread-safe.
//
// Submits and queries each have one.
//
// An exchange fails if upstream cannot be reached, if the connection breaks, or if the response has a status from 500,
// except 501, which names what upstream does not support. Every other response is a success: a client must not be able
// to open the breaker with requests that upstream refuses.
class Breaker {
 public:
  static constexpr int kLeastExchanges = 20;
  static constexpr absl::Duration kProbeInterval = absl::Seconds(5);
  // An exchange that its caller has abandoned earlier than this counts neither as a success nor as a failure: otherwise
  // a caller could open the breaker with short deadlines.
  static constexpr absl::Duration kPatience = absl::Seconds(5);
  // The same time for an exchange that has no connection yet. A connection needs a few round trips only.
  static constexpr absl::Duration kConnectPatience = absl::Seconds(1);

  // `open` shows whether the breaker is open, and must outlive it. `observe_open`, which may be empty, gets each
  // change. It is called with a lock held, and must not block or call the breaker.
  explicit Breaker(Gauge& open, std::function<void(bool open)> observe_open = {})
      : shown_open_(open), observe_open_(std::move(observe_open)) {}

  // The right of a call to probe whether upstream works again. If the call ends before Use, because it was refused or
  // failed for another reason, the destructor makes the next call a probe. Not thread-safe, movable. The breaker must
  // outlive it.
  class Probe {
   public:
    Probe() = default;
    Probe(Probe&& other) noexcept { *this = std::move(other); }
    Probe& operator=(Probe&& other) noexcept;
    ~Probe() { Return(); }

    // Whether the call is a probe that was neither used nor returned.
    bool is_held() const { return breaker_ != nullptr; }
    // The exchange with upstream begins.
    void Use() { breaker_ = nullptr; }
    // The call sends nothing.
    void Return();

   private:
    friend class Breaker;

    Breaker* breaker_ = nullptr;  // null unless the probe is held
    absl::Time next_;             // when the next probe is due; no other probe has the same time
  };

  // Returns nothing if a call may continue; if it is a probe, sets `probe`. Otherwise returns the time until the next
  // probe, which is the first call that arrives after it.
  std::optional<absl::Duration> Refuse(absl::Time now, Probe& probe);

  // An exchange has ended, `duration` after its call got its place. The wait for a place must not count: it says how
  // many calls the callers make, and nothing about upstream.
  void Count(const UpstreamOutcome& outcome, absl::Duration duration, absl::Time now);

 private:
  enum Kind { kSuccess, kFailure };

  void SetOpen(bool open) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Gauge& shown_open_;
  const std::function<void(bool)> observe_open_;
  Mutex mutex_;
  RecentSeconds<2> recent_ ABSL_GUARDED_BY(mutex_);
  bool open_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time next_probe_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_BREAKER_H_
