#include "gateway/events/tail.h"

namespace stampgate {

bool EventTail::Read(Position after, const EventFilter& filter, const PageLimits& limits, EventPage& page) const {
  std::lock_guard lock(mutex_);
  if (window_.empty() || after + 1 < window_.front()->position || after >= window_.back()->position) return false;
  size_t bytes = 0;
  for (size_t i = after + 1 - window_.front()->position; i < window_.size(); ++i) {
    if (!AddToPage(window_[i], filter, limits, bytes, page)) break;
  }
  return true;
}

void EventTail::Add(const std::vector<std::shared_ptr<const EncodedEvent>>& events, Position latest) {
  if (events.empty()) return;
  std::lock_guard lock(mutex_);
  const Position begin = events.front()->position;
  const bool goes_on = !window_.empty() && begin <= window_.back()->position + 1;
  if (!goes_on) {
    if (events.back()->position < latest) return;
    window_.clear();
    bytes_ = 0;
  }
  for (const auto& event : events) {
    // Skips events that another thread has already added.
    if (!window_.empty() && event->position <= window_.back()->position) continue;
    bytes_ += event->field.size();
    window_.push_back(event);
  }
  while (bytes_ > max_bytes_ && window_.size() > 1) {
    bytes_ -= window_.front()->field.size();
    window_.pop_front();
  }
}

}  // namespace stampgate
