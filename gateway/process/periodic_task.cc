#include "gateway/process/periodic_task.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/threads/start_thread.h"

namespace stampgate {

PeriodicTask::PeriodicTask(const std::string& name, absl::Duration interval, std::function<void()> task)
    : interval_(interval), task_(std::move(task)), next_(interval), thread_(StartThread(name, [this] { Work(); })) {}

PeriodicTask::~PeriodicTask() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.WakeOne();
  thread_.join();
}

void PeriodicTask::Wake() {
  {
    MutexLock lock(mutex_);
    wake_ = true;
  }
  changed_.WakeOne();
}

void PeriodicTask::RunAgainIn(absl::Duration time) {
  MutexLock lock(mutex_);
  next_ = std::min(next_, time);
}

void PeriodicTask::Work() {
  MutexLock lock(mutex_);
  for (;;) {
    const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(next_);
    while (!wake_ && !stop_ && !changed_.WaitUntil(mutex_, until)) {
    }
    if (stop_) return;
    wake_ = false;
    next_ = interval_;
    lock.Unlock();
    task_();
    lock.Relock();
  }
}

}  // namespace stampgate
