#include "gateway/operations/timestamp_allocator.h"

#include <algorithm>

namespace stampgate {
namespace {

// Returns the milliseconds since 1970, or 0 if `time` is before 1970.
uint64_t ToMillis(absl::Time time) { return static_cast<uint64_t>(std::max<int64_t>(absl::ToUnixMillis(time), 0)); }

constexpr uint64_t kMaxAheadMs = 1000;
constexpr uint64_t kMaxAheadAfterStepMs = 60'000;
constexpr uint64_t kLongStepMs = 29'000;
static_assert(absl::Milliseconds(kMaxAheadMs) == TimestampAllocator::kMaxAhead);
static_assert(absl::Milliseconds(kMaxAheadAfterStepMs) == TimestampAllocator::kMaxAheadAfterStep);
static_assert(absl::Milliseconds(kLongStepMs) == TimestampAllocator::kLongStep);

// The retry delay of a call that gets no value because the mark is too low. A healthy store raises the mark within this
// time.
constexpr absl::Duration kMarkDelay = absl::Seconds(1);

}  // namespace

TimestampAllocator::TimestampAllocator(uint64_t floor_ms, TimestampLease lease)
    : lease_(lease), floor_ms_(floor_ms), next_ms_(floor_ms) {}

uint64_t TimestampAllocator::Align(uint64_t timestamp_ms) const {
  const uint64_t rest = timestamp_ms % lease_.count;
  return timestamp_ms + (lease_.index + lease_.count - rest) % lease_.count;
}

TimestampAllocator::Choice TimestampAllocator::Choose(uint64_t content, absl::Time now) {
  MutexLock lock(mutex_);
  const uint64_t now_ms = ToMillis(now);
  // After the clock was set back by a long step, the allocator can have forgotten values that it chose. So it chooses
  // only values above all earlier values.
  if (now_ms + kLongStepMs <= latest_now_ms_) {
    floor_ms_ = std::max(floor_ms_, next_ms_);
    latest_now_ms_ = now_ms;
  }
  latest_now_ms_ = std::max(latest_now_ms_, now_ms);
  last_.Turn(now, kRemembered);
  noted_.Turn(now, kNotedRemembered);

  uint64_t value = std::max(std::min(now_ms, mark_ms_ - std::min(mark_ms_, kMaxAheadMs)), floor_ms_);
  for (const auto* generation : {&last_.current, &last_.previous}) {
    if (auto last = generation->find(content); last != generation->end()) value = std::max(value, last->second + 1);
  }
  value = Align(value);
  const uint64_t steady = std::max(latest_now_ms_, floor_ms_) + kMaxAheadMs;
  const uint64_t limit = std::min(steady, now_ms + kMaxAheadAfterStepMs);
  while (value <= limit && (noted_.current.contains({content, value}) || noted_.previous.contains({content, value}))) {
    value += lease_.count;
  }
  if (value >= mark_ms_) return {std::nullopt, kMarkDelay};
  if (value > limit) {
    const uint64_t until = std::max(value - std::min(value, kMaxAheadAfterStepMs),
                                    value <= steady ? 0 : value - std::min(value, kMaxAheadMs));
    return {std::nullopt, absl::Milliseconds(until - std::min(until, now_ms))};
  }
  last_.current[content] = value;
  next_ms_ = std::max(next_ms_, value + 1);
  return {value, absl::ZeroDuration()};
}

void TimestampAllocator::Note(uint64_t content, uint64_t timestamp_ms, absl::Time now) {
  MutexLock lock(mutex_);
  noted_.Turn(now, kNotedRemembered);
  noted_.current.emplace(content, timestamp_ms);
}

void TimestampAllocator::SetMark(uint64_t mark_ms) {
  MutexLock lock(mutex_);
  mark_ms_ = mark_ms;
}

void TimestampAllocator::Adopt(TimestampLease lease, uint64_t floor_ms) {
  MutexLock lock(mutex_);
  lease_ = lease;
  floor_ms_ = std::max(floor_ms_, floor_ms);
  next_ms_ = std::max(next_ms_, floor_ms);
}

uint64_t TimestampAllocator::next_ms() const {
  MutexLock lock(mutex_);
  return next_ms_;
}

}  // namespace stampgate
