#include "gateway/admission/rate_window.h"

#include <algorithm>
#include <cmath>

namespace stampgate {
namespace {

// The window is longer than the limit's interval by this fraction, but at most by kLongestGuard.
constexpr double kGuard = 0.01;
constexpr absl::Duration kLongestGuard = absl::Seconds(1);

// Requests within this fraction of the window share a slot, which bounds the memory of a window.
constexpr int kSlots = 256;

// The part of a paced window that may begin at once.
constexpr int64_t kBurstDivisor = 5;

// A share that was rounded down, such as a third of 60 requests, is still one of whole requests.
constexpr double kRounding = 1e-3;

// The part of a paced window that may begin at once after calls have waited, so that a late timer costs no places.
constexpr int64_t kCatchUpDivisor = 10;

}  // namespace

RateWindow::RateWindow(const RateLimit& limit) : limit_(limit) { Measure(); }

absl::Time RateWindow::When(int64_t count, absl::Time from) const {
  const int64_t capacity = Capacity(from);
  // A whole window of requests needs a whole length. `count` are the others.
  const int64_t lengths = (count - 1) / capacity;
  count -= lengths * capacity;
  absl::Time when = from;
  if (IsPaced()) {
    when = std::max(from, next_);
    if (count > 1) when += distance_ * (count - 1);
  }
  // So many requests must leave the window before the last one fits.
  int64_t excess = unsent_ + sent_ + count - capacity;
  if (excess > 0) {
    absl::Time fits = from + length_;
    for (const Slot& slot : slots_) {
      excess -= slot.requests;
      if (excess > 0) continue;
      fits = slot.last + length_;
      // Requests that leave together are followed at even distances.
      if (IsPaced() && slot.requests + excess > 1) fits += distance_ * (slot.requests + excess - 1);
      break;
    }
    when = std::max(when, fits);
  }
  // A burst in the first length delays the requests of the next ones.
  return lengths > 0 ? when + length_ * lengths + tolerance_ : when;
}

void RateWindow::Begin(absl::Time now, bool waited) {
  Forget(now);
  ++unsent_;
  next_ = std::max(next_, now - (waited ? catch_up_ : tolerance_)) + distance_;
}

void RateWindow::Sent(absl::Time now) {
  --unsent_;
  ++sent_;
  if (!slots_.empty() && now < slots_.back().first + slot_) {
    slots_.back().last = std::max(slots_.back().last, now);
    ++slots_.back().requests;
  } else {
    slots_.push_back({now, now, 1});
  }
}

void RateWindow::Withdraw() {
  --unsent_;
  next_ -= distance_;
}

void RateWindow::SetShare(double share, absl::Time now) {
  // How many requests may begin at once; negative if the next one must wait.
  const double early = absl::FDivDuration(now - std::max(next_, now - tolerance_), distance_);
  share_ = share;
  Measure();
  next_ = now - std::min(distance_ * early, tolerance_);
}

bool RateWindow::HasPlaces(int64_t count, absl::Time now) const {
  if (!IsPaced()) return When(count, now) <= now;
  // If another rate delays the calls longer, this window has so many places whenever one of them goes.
  count = std::min(count, std::max<int64_t>(capacity_ / kCatchUpDivisor, 2));
  return next_ <= now - distance_ * (count - 1) && When(1, now) <= now;
}

void RateWindow::SetLimit(const RateLimit& limit) {
  limit_ = limit;
  Measure();
}

void RateWindow::SetSpeed(double speed) {
  speed_ = speed;
  Measure();
}

void RateWindow::SetOthers(int64_t requests, absl::Time now) {
  others_ = std::max<int64_t>(requests, 0);
  others_until_ = now + length_;
}

int64_t RateWindow::used(absl::Time now) {
  Forget(now);
  return unsent_ + sent_;
}

double RateWindow::PerSecond(absl::Time now) const {
  return static_cast<double>(Capacity(now)) / absl::ToDoubleSeconds(length_);
}

int64_t RateWindow::Capacity(absl::Time now) const {
  if (now >= others_until_) return capacity_;
  return std::clamp<int64_t>(limit_.requests - others_, 1, capacity_);
}

void RateWindow::Measure() {
  const double requests = static_cast<double>(limit_.requests) * share_;
  capacity_ = std::max<int64_t>(static_cast<int64_t>(std::floor(requests + kRounding)), 1);
  length_ = limit_.per + std::min(limit_.per * kGuard, kLongestGuard);
  if (requests < 1) length_ /= std::max(requests, 1e-6);
  if (IsPaced()) length_ /= speed_;
  distance_ = length_ / capacity_;
  tolerance_ = distance_ * std::max<int64_t>(capacity_ / kBurstDivisor - 1, 0);
  catch_up_ = distance_ * std::max<int64_t>(capacity_ / kCatchUpDivisor - 1, 0);
  slot_ = length_ / kSlots;
}

void RateWindow::Forget(absl::Time now) {
  while (!slots_.empty() && slots_.front().last + length_ <= now) {
    sent_ -= slots_.front().requests;
    slots_.pop_front();
  }
}

}  // namespace stampgate
