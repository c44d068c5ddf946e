#include "gateway/feed/tail.h"

namespace stampgate {

bool EventTail::Has(const LogPoint& point) const {
  if (window_.empty() || point.position < before_.position || point.position > window_.back()->position) return false;
  const ChainDigest& there =
      point.position == before_.position ? before_.digest : window_[point.position - before_.position - 1]->digest;
  constexpr ChainDigest kUnknown = {};
  return there == point.digest || there == kUnknown || point.digest == kUnknown;
}

bool EventTail::Read(const LogPoint& after, const EventFilter& filter, const PageLimits& limits,
                     EventPage& page) const {
  MutexLock lock(mutex_);
  if (!Has(after) || after.position == window_.back()->position) return false;
  size_t bytes = 0;
  for (size_t i = after.position - before_.position; i < window_.size(); ++i) {
    if (!AddToPage(window_[i], filter, limits, bytes, page)) break;
  }
  return true;
}

void EventTail::Add(const LogPoint& after, const std::vector<std::shared_ptr<const EncodedEvent>>& events,
                    Position latest) {
  if (events.empty()) return;
  MutexLock lock(mutex_);
  if (!Has(after)) {
    if (events.back()->position < latest) return;
    window_.clear();
    before_ = after;
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
    before_ = {window_.front()->position, window_.front()->digest};
    window_.pop_front();
  }
}

}  // namespace stampgate
