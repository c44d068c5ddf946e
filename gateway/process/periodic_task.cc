#include "gateway/process/periodic_task.h"

#include <algorithm>
#include <utility>

#include "base/threads/start_thread.h"

namespace stampgate {

PeriodicTask::PeriodicTask(const std::string& name, absl::Duration interval, std::function<void()> task)
    : interval_(interval), task_(std::move(task)), next_(interval), thread_(StartThread(name, [this] { Work(); })) {}

PeriodicTask::~PeriodicTask() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void PeriodicTask::Wake() {
  {
    std::lock_guard lock(mutex_);
    wake_ = true;
  }
  changed_.notify_one();
}

void PeriodicTask::RunAgainIn(absl::Duration time) {
  std::lock_guard lock(mutex_);
  next_ = std::min(next_, time);
}

void PeriodicTask::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, absl::ToChronoNanoseconds(next_), [this] { return wake_ || stop_; });
    if (stop_) return;
    wake_ = false;
    next_ = interval_;
    lock.unlock();
    task_();
    lock.lock();
  }
}

}  // namespace stampgate
