#include "gateway/timestamp_allocator.h"

#include <algorithm>

namespace stampgate {
namespace {

// A time before 1970 is no time at which upstream is called.
uint64_t ToMillis(absl::Time time) { return static_cast<uint64_t>(std::max<int64_t>(absl::ToUnixMillis(time), 0)); }

}  // namespace

TimestampAllocator::TimestampAllocator(absl::Time start, uint64_t replica_index, uint64_t replica_count)
    : first_ms_(ToMillis(start + kMaxAhead)), replica_index_(replica_index), replica_count_(replica_count) {}

uint64_t TimestampAllocator::Align(uint64_t timestamp_ms) const {
  const uint64_t rest = timestamp_ms % replica_count_;
  return timestamp_ms + (replica_index_ + replica_count_ - rest) % replica_count_;
}

std::optional<uint64_t> TimestampAllocator::Choose(uint64_t content, absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  last_.Turn(now, kRemembered);
  noted_.Turn(now, kNotedRemembered);

  uint64_t value = std::max(ToMillis(now), first_ms_);
  for (const auto* generation : {&last_.current, &last_.previous}) {
    if (auto last = generation->find(content); last != generation->end()) value = std::max(value, last->second + 1);
  }
  value = Align(value);
  const uint64_t last = ToMillis(now + kMaxAhead);
  while (value <= last && (noted_.current.contains({content, value}) || noted_.previous.contains({content, value}))) {
    value += replica_count_;
  }
  if (value > last) return std::nullopt;
  last_.current[content] = value;
  return value;
}

void TimestampAllocator::Note(uint64_t content, uint64_t timestamp_ms, absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  noted_.Turn(now, kNotedRemembered);
  noted_.current.emplace(content, timestamp_ms);
}

}  // namespace stampgate
