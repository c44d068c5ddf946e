// Reports the growth of a log that several gateways share, and detects that it lost events.
#ifndef STAMPGATE_WEBHOOKS_LOG_POSTGRES_GROWTH_H_
#define STAMPGATE_WEBHOOKS_LOG_POSTGRES_GROWTH_H_

#include <functional>
#include <utility>

#include "base/threads/mutex.h"
#include "webhooks/log/event_log.h"

namespace stampgate {

// Thread-safe.
class LogGrowth {
 public:
  explicit LogGrowth(LogPoint end) : end_(end) {}

  // If the end has changed since the constructor, reports it before SetOnGrowth returns.
  void SetOnGrowth(std::function<void(Position latest)> on_growth) {
    const MutexLock lock(mutex_);
    on_growth_ = std::move(on_growth);
    if (has_changed_ && on_growth_) on_growth_(end_.position);
  }

  // Returns the end of the log as far as this gateway knows.
  LogPoint end() const {
    const MutexLock lock(mutex_);
    return end_;
  }

  // Reports that the log ends at `end`, or later. Does nothing if the log was already known to end there or later.
  void Grow(const LogPoint& end) {
    const MutexLock lock(mutex_);
    if (end.position > end_.position) Set(end);
  }

  // Reports that the log has lost the event at `had`, and now ends at `end`. Returns false, and does nothing, if the
  // log has grown since end() returned `had`.
  bool TakeBack(const LogPoint& had, const LogPoint& end) {
    const MutexLock lock(mutex_);
    if (end_.position != had.position || end_.digest != had.digest) return false;
    // The log can have grown again since. A report of an earlier position shows that it has lost events.
    if (on_growth_ && end.position >= had.position) on_growth_(had.position - 1);
    Set(end);
    return true;
  }

 private:
  void Set(const LogPoint& end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    end_ = end;
    has_changed_ = true;
    if (on_growth_) on_growth_(end.position);
  }

  mutable Mutex mutex_;
  LogPoint end_ ABSL_GUARDED_BY(mutex_);
  bool has_changed_ ABSL_GUARDED_BY(mutex_) = false;
  std::function<void(Position latest)> on_growth_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_WEBHOOKS_LOG_POSTGRES_GROWTH_H_
