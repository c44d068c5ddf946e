#include "gateway/events/stream_slots.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "translate/error.h"

namespace stampgate {

StreamSlots::StreamSlots(size_t max, absl::string_view streams, std::function<void(int change)> on_change)
    : max_(max), streams_(streams), on_change_(std::move(on_change)) {}

absl::StatusOr<std::unique_ptr<StreamSlot>> StreamSlots::Take() {
  std::unique_ptr<StreamSlot> slot;
  {
    std::lock_guard lock(mutex_);
    if (positions_.size() < max_) {
      positions_.emplace_back();
      slot = absl::WrapUnique(new StreamSlot(*this, std::prev(positions_.end())));
    }
  }
  if (slot == nullptr) {
    Error error = GatewayError(absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_TOO_MANY_SUBSCRIBERS,
                               absl::StrCat("the gateway already serves the maximum number of ", streams_));
    error.retry_delay = absl::Seconds(10);
    return ToStatus(error);
  }
  if (on_change_) on_change_(1);
  return slot;
}

size_t StreamSlots::taken() const {
  std::lock_guard lock(mutex_);
  return positions_.size();
}

std::optional<Position> StreamSlots::Furthest() const {
  std::lock_guard lock(mutex_);
  std::optional<Position> furthest;
  for (const std::optional<Position>& position : positions_) {
    if (position.has_value()) furthest = std::min(furthest.value_or(*position), *position);
  }
  return furthest;
}

StreamSlot::~StreamSlot() {
  {
    std::lock_guard lock(slots_.mutex_);
    slots_.positions_.erase(position_);
  }
  if (slots_.on_change_) slots_.on_change_(-1);
}

void StreamSlot::SetPosition(Position position) {
  std::lock_guard lock(slots_.mutex_);
  *position_ = position;
}

}  // namespace stampgate
