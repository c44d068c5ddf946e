// Chooses timestamps for submits, so that equal submits get different bytes.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_ALLOCATOR_H_
#define STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_ALLOCATOR_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/store/call_store.h"

namespace stampgate {

// Upstream treats two submits with equal bytes as one submit. So two calls that want two activities need different
// timestamps, even if the rest of their bodies is equal. `content` is a hash of a body without its timestamp. For each
// content, the allocator chooses each millisecond at most once, and never a millisecond that a caller has set. The
// content does not include the signing key, because upstream compares the bytes, whichever key stamps them. If two
// bodies have the same hash, the allocator treats the bodies as equal, which does no harm. Thread-safe. A choice takes
// constant time, plus time for each value that it must skip because a caller has set the value.
//
// Chosen values follow the clock, and are usually at most kMaxAhead ahead of the clock. After a restart, and after the
// clock was set back by kLongStep or more, the allocator chooses only values above all earlier values, at most
// kMaxAheadAfterStep ahead of the clock. If a call would need a value further ahead, the call gets no value and must
// wait.
class TimestampAllocator {
 public:
  static constexpr absl::Duration kMaxAhead = absl::Seconds(1);
  // This limit is less than five minutes, because upstream rejects timestamps that are more than five minutes ahead of
  // its clock.
  static constexpr absl::Duration kMaxAheadAfterStep = absl::Seconds(60);
  // For at least this time, the allocator remembers the last value that it chose for a content. So it chooses no value
  // twice for this content if the clock is set back by less than kLongStep.
  static constexpr absl::Duration kRemembered = absl::Seconds(30);
  static constexpr absl::Duration kLongStep = absl::Seconds(29);  // kRemembered minus kMaxAhead
  // How long the allocator remembers values that callers have set.
  static constexpr absl::Duration kNotedRemembered = absl::Minutes(6);

  // The allocator chooses no value below `floor_ms`. Requires that earlier processes chose only values below
  // `floor_ms`. Chooses only values of `lease`, so that several processes need not know each other's values.
  TimestampAllocator(uint64_t floor_ms, TimestampLease lease);

  // The chosen value, or the time until a value is free. The time is correct if the clock is not set meanwhile and no
  // other call takes the value.
  struct Choice {
    std::optional<uint64_t> value;
    absl::Duration retry_delay;
  };
  Choice Choose(uint64_t content, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Records that a caller has set `timestamp_ms` itself, so that Choose does not return it for `content`.
  void Note(uint64_t content, uint64_t timestamp_ms, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on, Choose returns only values below `mark_ms`. If the clock has passed the mark, Choose returns values of
  // the last second before the mark. Before the first call of SetMark, no mark limits the values.
  void SetMark(uint64_t mark_ms) ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on, Choose returns only values of `lease` that are not below `floor_ms`. Requires that the earlier holders
  // of the lease have chosen only values below `floor_ms`.
  void Adopt(TimestampLease lease, uint64_t floor_ms) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns a value that is greater than all values that were chosen so far.
  uint64_t next_ms() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A container with two generations: the current one and the previous one. Turn drops the elements that were not used
  // for a whole generation.
  template <typename Container>
  struct Aging {
    Container current;
    Container previous;
    absl::Time turned = absl::InfinitePast();

    void Turn(absl::Time now, absl::Duration age) {
      if (now < turned) turned = now;
      if (now - turned < age) return;
      previous = std::exchange(current, Container());
      turned = now;
    }
  };

  // Returns the smallest value of the lease that is not below `timestamp_ms`.
  uint64_t Align(uint64_t timestamp_ms) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  TimestampLease lease_ ABSL_GUARDED_BY(mutex_);
  uint64_t floor_ms_ ABSL_GUARDED_BY(mutex_);
  uint64_t mark_ms_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<uint64_t>::max();
  uint64_t next_ms_ ABSL_GUARDED_BY(mutex_);
  uint64_t latest_now_ms_ ABSL_GUARDED_BY(mutex_) = 0;  // the latest time since the last long step back of the clock
  Aging<absl::flat_hash_map<uint64_t, uint64_t>> last_ ABSL_GUARDED_BY(mutex_);  // the last value by content
  Aging<absl::flat_hash_set<std::pair<uint64_t, uint64_t>>> noted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_ALLOCATOR_H_
