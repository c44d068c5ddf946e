#include "gateway/process/worker_threads.h"

#include <algorithm>
#include <utility>

#include "webhooks/threads/start_thread.h"

namespace stampgate {

WorkerThreads::WorkerThreads(const std::string& name, int count) {
  for (int i = 0; i < std::max(count, 1); ++i) threads_.push_back(StartThread(name, [this] { Work(); }));
}

WorkerThreads::~WorkerThreads() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerThreads::Run(Task task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void WorkerThreads::Work() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    std::move(task)();
  }
}

}  // namespace stampgate
