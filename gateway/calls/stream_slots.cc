#include "gateway/calls/stream_slots.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status_macros.h"
#include "absl/time/time.h"

namespace stampgate {

StreamSlots::StreamSlots(size_t max, size_t max_per_caller, absl::string_view streams,
                         std::function<void(int change)> on_change)
    : quota_({.max = max,
              .max_per_caller = max_per_caller,
              .what = std::string(streams),
              .reason = v1::ERROR_REASON_TOO_MANY_SUBSCRIBERS,
              .retry_delay = absl::Seconds(10)}),
      on_change_(std::move(on_change)) {}

absl::StatusOr<std::unique_ptr<StreamSlot>> StreamSlots::Take(absl::string_view caller) {
  ABSL_ASSIGN_OR_RETURN(CallerShare share, quota_.TakeFor(caller));
  std::unique_ptr<StreamSlot> slot;
  {
    MutexLock lock(mutex_);
    positions_.emplace_back();
    slot = absl::WrapUnique(new StreamSlot(*this, std::move(share), std::prev(positions_.end())));
  }
  if (on_change_) on_change_(1);
  return slot;
}

std::optional<Position> StreamSlots::Furthest() const {
  MutexLock lock(mutex_);
  std::optional<Position> furthest;
  for (const std::optional<Position>& position : positions_) {
    if (position.has_value()) furthest = std::min(furthest.value_or(*position), *position);
  }
  return furthest;
}

StreamSlot::~StreamSlot() {
  {
    MutexLock lock(slots_.mutex_);
    slots_.positions_.erase(position_);
  }
  if (slots_.on_change_) slots_.on_change_(-1);
}

void StreamSlot::SetPosition(Position position) {
  MutexLock lock(slots_.mutex_);
  *position_ = position;
}

}  // namespace stampgate
