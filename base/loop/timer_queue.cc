#include "base/loop/timer_queue.h"

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/system/error_code.hpp>
#include <exception>

namespace stampgate {
namespace {

// Longer delays are shortened to this one, so that no time overflows.
constexpr absl::Duration kMaxDelay = absl::Hours(24 * 365);

int64_t Nanoseconds(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

TimerId TimerQueue::Add(absl::Duration delay, Task task) {
  const int64_t wait_ns = absl::ToInt64Nanoseconds(std::clamp(delay, absl::ZeroDuration(), kMaxDelay));
  TimerId id;
  {
    const MutexLock lock(mutex_);
    id = {Nanoseconds(Clock::now()) + wait_ns, ++last_number_};
    if (cleared_) return id;
    tasks_.emplace(Key(id.time_ns, id.number), std::move(task));
    if (id.time_ns >= armed_ns_) return id;
    armed_ns_ = id.time_ns;
  }
  try {
    boost::asio::dispatch(timer_.get_executor(), [this] { Arm(); });
  } catch (const std::exception&) {  // memory is short
    const MutexLock lock(mutex_);
    armed_ns_ = kNever;
  }
  return id;
}

bool TimerQueue::Cancel(const TimerId& id) {
  Task cancelled;
  const MutexLock lock(mutex_);
  const auto found = tasks_.find(Key(id.time_ns, id.number));
  if (found == tasks_.end()) return false;
  cancelled = std::move(found->second);
  tasks_.erase(found);
  return true;
}

void TimerQueue::Clear() {
  absl::btree_map<Key, Task> tasks;
  {
    const MutexLock lock(mutex_);
    cleared_ = true;
    tasks.swap(tasks_);
  }
  timer_.cancel();
}

void TimerQueue::Arm() {
  int64_t time_ns;
  {
    const MutexLock lock(mutex_);
    if (tasks_.empty()) {
      armed_ns_ = kNever;
      return;
    }
    time_ns = armed_ns_ = tasks_.begin()->first.first;
  }
  try {
    timer_.expires_at(Clock::time_point(std::chrono::nanoseconds(time_ns)));
    timer_.async_wait([this](boost::system::error_code error) {
      if (!error) RunDue();
    });
  } catch (const std::exception&) {  // memory is short; the next Add arms the timer again
    const MutexLock lock(mutex_);
    armed_ns_ = kNever;
  }
}

void TimerQueue::RunDue() {
  const int64_t now_ns = Nanoseconds(Clock::now());
  while (true) {
    Task due;
    {
      const MutexLock lock(mutex_);
      if (tasks_.empty() || tasks_.begin()->first.first > now_ns) break;
      due = std::move(tasks_.begin()->second);
      tasks_.erase(tasks_.begin());
    }
    try {
      std::move(due)();
    } catch (const std::exception&) {  // only this task is lost, as in RunHandlers
    }
  }
  Arm();
}

}  // namespace stampgate
