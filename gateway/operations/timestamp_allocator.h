// Chooses the timestampMs of submits.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_ALLOCATOR_H_
#define STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_ALLOCATOR_H_

#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"

namespace stampgate {

// For upstream two submits with equal bytes are one submit. So two calls that mean two activities need different
// timestamps, even if everything else is equal. For each `content`, a hash of the body without its timestamp, this
// chooses each millisecond once, and no millisecond that a caller has set. The signing key is not part of the content,
// because upstream compares the bytes, whichever key stamps them. Two contents with the same hash share their
// milliseconds, which does no harm. Thread-safe. A choice takes constant time, plus the number of values within a
// second that callers have set.
//
// Values follow the clock. In steady state they are at most kMaxAhead ahead of it. After a restart, and after the clock
// was set back by kLongStep or more, values begin above all earlier values, at most kMaxAheadAfterStep ahead of the
// clock. A call that would need a value further ahead must wait.
class TimestampAllocator {
 public:
  static constexpr absl::Duration kMaxAhead = absl::Seconds(1);
  // Upstream accepts values up to five minutes ahead.
  static constexpr absl::Duration kMaxAheadAfterStep = absl::Seconds(60);
  // Chosen values are remembered for at least this long after their last use. So no value is chosen twice when the
  // clock is set back by less.
  static constexpr absl::Duration kRemembered = absl::Seconds(30);
  static constexpr absl::Duration kLongStep = absl::Seconds(29);  // kRemembered less kMaxAhead
  // Values that callers have set are remembered for this long.
  static constexpr absl::Duration kNotedRemembered = absl::Minutes(6);

  // All values are at least `floor_ms`; earlier processes chose values below it only. Replica `replica_index` of
  // `replica_count` uses the values whose remainder modulo `replica_count` is `replica_index`, so that replicas need
  // not know of each other.
  TimestampAllocator(uint64_t floor_ms, uint64_t replica_index, uint64_t replica_count);

  // A value, or the time until one is free, if the clock is not set and no other call comes.
  struct Choice {
    std::optional<uint64_t> value;
    absl::Duration retry_delay;
  };
  Choice Choose(uint64_t content, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // A caller has set `timestamp_ms` itself.
  void Note(uint64_t content, uint64_t timestamp_ms, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on only values below `mark_ms` are chosen: those of the last second before the mark, if the clock has
  // passed it. At first there is no mark.
  void SetMark(uint64_t mark_ms) ABSL_LOCKS_EXCLUDED(mutex_);

  // No value at or above this was chosen.
  uint64_t next_ms() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Two generations of a container. An element that was not used for a whole generation is dropped.
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

  // The smallest value of this replica that is not below `timestamp_ms`.
  uint64_t Align(uint64_t timestamp_ms) const;

  const uint64_t replica_index_;
  const uint64_t replica_count_;
  // Of the standard library, so that the thread sanitizer sees it.
  mutable std::mutex mutex_;
  uint64_t floor_ms_ ABSL_GUARDED_BY(mutex_);
  uint64_t mark_ms_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<uint64_t>::max();
  uint64_t next_ms_ ABSL_GUARDED_BY(mutex_);
  uint64_t latest_now_ms_ ABSL_GUARDED_BY(mutex_) = 0;  // since the start, or the last long step back
  Aging<absl::flat_hash_map<uint64_t, uint64_t>> last_ ABSL_GUARDED_BY(mutex_);  // content -> last value
  Aging<absl::flat_hash_set<std::pair<uint64_t, uint64_t>>> noted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_ALLOCATOR_H_
