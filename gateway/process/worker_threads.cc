#include "gateway/process/worker_threads.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/threads/start_thread.h"

namespace stampgate {
namespace {

// Waking a thread takes about as much CPU time as a short task. Therefore another thread wakes only if more than this
// many tasks are queued for each thread that is awake.
constexpr size_t kTasksPerThread = 4;

}  // namespace

WorkerThreads::WorkerThreads(const std::string& name, int count) : awake_(static_cast<size_t>(std::max(count, 1))) {
  for (size_t i = awake_; i > 0; --i) threads_.push_back(StartThread(name, [this] { Work(); }));
}

WorkerThreads::~WorkerThreads() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.WakeAll();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::Run(Task task) {
  bool wake;
  {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    wake = tasks_.size() > kTasksPerThread * awake_;
  }
  if (wake) changed_.WakeOne();
}

void WorkerThreads::Work() {
  for (;;) {
    Task task;
    {
      MutexLock lock(mutex_);
      --awake_;
      while (!stop_ && tasks_.empty()) changed_.Wait(mutex_);
      ++awake_;
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    std::move(task)();
  }
}

}  // namespace stampgate
