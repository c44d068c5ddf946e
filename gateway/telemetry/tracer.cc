#include "gateway/telemetry/tracer.h"

#include <algorithm>
#include <utility>

namespace stampgate {

Tracer::Tracer(Options options) : options_(std::move(options)) {}

bool Tracer::Samples(std::optional<bool> callers_flag) const {
  if (callers_flag.has_value()) return *callers_flag;
  // The highest 53 bits, which a double represents exactly: a number from 0 to just below 1.
  constexpr double kUnit = 1.0 / (uint64_t{1} << 53);
  return static_cast<double>(options_.random() >> 11) * kUnit < options_.sampling_ratio;
}

uint64_t Tracer::NewSpanId() const {
  const uint64_t id = options_.random();
  return id == 0 ? 1 : id;
}

void Tracer::Queue(std::unique_ptr<const TracedCall> call) {
  {
    const MutexLock lock(mutex_);
    if (!closed_ && queue_.size() < options_.max_queued) {
      queue_.push_back(std::move(call));
      if (queue_.size() == (options_.max_queued + 1) / 2 && on_half_full_) on_half_full_();
    }
  }
  // A dropped call is freed after the lock was released.
  if (call != nullptr) options_.on_drop();
}

void Tracer::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
}

std::vector<std::unique_ptr<const TracedCall>> Tracer::Take(size_t most) {
  std::vector<std::unique_ptr<const TracedCall>> taken;
  const MutexLock lock(mutex_);
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(most, queue_.size()));
  taken.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return taken;
}

}  // namespace stampgate
