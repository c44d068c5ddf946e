// Chooses the timestampMs of submits.
#ifndef STAMPGATE_GATEWAY_TIMESTAMP_ALLOCATOR_H_
#define STAMPGATE_GATEWAY_TIMESTAMP_ALLOCATOR_H_

#include <cstdint>
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
// hands out each millisecond once, and none that a caller has set itself. Two contents with one hash share their
// milliseconds, which does no harm. Thread-safe. Takes constant time, save for the values within a second that callers
// have taken.
//
// A clock that steps back by less than kRemembered brings no value a second time: the values go on from the last one.
// Neither does a restart: values begin kMaxAhead after `start`, later than anything that was handed out before.
class TimestampAllocator {
 public:
  // No value lies further ahead of the clock.
  static constexpr absl::Duration kMaxAhead = absl::Seconds(1);
  // What the allocator has handed out is remembered for at least this long after its last use...
  static constexpr absl::Duration kRemembered = absl::Seconds(30);
  // ...and what callers have set, for this long: upstream takes values up to five minutes ahead.
  static constexpr absl::Duration kNotedRemembered = absl::Minutes(6);

  // Replica `replica_index` of `replica_count` uses the values that leave `replica_index` when divided by
  // `replica_count`, so that replicas need not know of each other.
  TimestampAllocator(absl::Time start, uint64_t replica_index, uint64_t replica_count);

  // A value at or after `now`, or nothing if all values up to kMaxAhead are taken; then the caller should come back
  // after RetryDelay().
  std::optional<uint64_t> Choose(uint64_t content, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // A caller has set `timestamp_ms` itself.
  void Note(uint64_t content, uint64_t timestamp_ms, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // After this long a value is free again, if the clock goes on as it should.
  absl::Duration RetryDelay() const { return absl::Milliseconds(replica_count_) + absl::Milliseconds(50); }

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

  const uint64_t first_ms_;
  const uint64_t replica_index_;
  const uint64_t replica_count_;
  // Of the standard library, so that the thread sanitizer sees it.
  std::mutex mutex_;
  Aging<absl::flat_hash_map<uint64_t, uint64_t>> last_ ABSL_GUARDED_BY(mutex_);  // content -> last value handed out
  Aging<absl::flat_hash_set<std::pair<uint64_t, uint64_t>>> noted_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TIMESTAMP_ALLOCATOR_H_
