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

// Upstream takes two submits with equal bytes for one. So two calls that mean two activities need distinct times,
// though everything else is equal: per `content` (a hash of the body without its time, organization included) this
// gives out each millisecond once, and none that a caller has set itself. The signing key is not part of the content,
// because upstream knows a submit again by its bytes, no matter which key stamps them. Two contents with one hash share
// their milliseconds, which does no harm. Thread-safe. Takes constant time, save for the values within a second that
// callers have taken.
//
// Values go with the clock. In steady state they run at most kMaxAhead ahead of it. After a restart, and after a step
// of the clock back by kLongStep or more, they begin above everything that was given out before, at most
// kMaxAheadAfterStep ahead of the clock; what would be further ahead has to wait.
class TimestampAllocator {
 public:
  static constexpr absl::Duration kMaxAhead = absl::Seconds(1);
  // Upstream takes values up to five minutes ahead.
  static constexpr absl::Duration kMaxAheadAfterStep = absl::Seconds(60);
  // What was given out is remembered for at least this long after its last use, so that a shorter step brings no value
  // a second time...
  static constexpr absl::Duration kRemembered = absl::Seconds(30);
  static constexpr absl::Duration kLongStep = absl::Seconds(29);  // kRemembered less kMaxAhead
  // ...and what callers have set, for this long.
  static constexpr absl::Duration kNotedRemembered = absl::Minutes(6);

  // All values are at least `floor_ms`, below which everything lies that was given out before. Replica `replica_index`
  // of `replica_count` uses the values that leave `replica_index` when divided by `replica_count`, so that replicas
  // need not know of each other.
  TimestampAllocator(uint64_t floor_ms, uint64_t replica_index, uint64_t replica_count);

  // A value, or how long it takes until there is one, if the clock goes on as it should and nobody else comes.
  struct Choice {
    std::optional<uint64_t> value;
    absl::Duration retry_delay;
  };
  Choice Choose(uint64_t content, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // A caller has set `timestamp_ms` itself.
  void Note(uint64_t content, uint64_t timestamp_ms, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on only values below `mark_ms` are given out. Where the clock has passed the mark, they are from the last
  // second before it. At first there is no mark.
  void SetMark(uint64_t mark_ms) ABSL_LOCKS_EXCLUDED(mutex_);

  // Nothing at or above this was given out.
  uint64_t next_ms() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Two generations of a container: what has not been used in a whole generation is dropped.
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
  Aging<absl::flat_hash_map<uint64_t, uint64_t>> last_ ABSL_GUARDED_BY(mutex_);  // content -> last value handed out
  Aging<absl::flat_hash_set<std::pair<uint64_t, uint64_t>>> noted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_ALLOCATOR_H_
