// Threads that run short tasks.
#ifndef STAMPGATE_GATEWAY_PROCESS_WORKER_THREADS_H_
#define STAMPGATE_GATEWAY_PROCESS_WORKER_THREADS_H_

#include <cstddef>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "base/threads/mutex.h"

namespace stampgate {

// Thread-safe.
class WorkerThreads {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  // Starts `count` threads, but at least one, with this name (see StartThread).
  WorkerThreads(const std::string& name, int count);

  // Waits until every task has run. A task must not destroy this object.
  ~WorkerThreads();

  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Queues `task`, which one of the threads runs once. Tasks begin in the order in which they were queued. Never waits
  // for a task. A task must not wait for another task, because the other task may never begin: a sleeping thread wakes
  // only if several tasks are queued for each thread that is awake. The number of queued tasks has no limit.
  void Run(Task task);

 private:
  void Work();

  Mutex mutex_;
  Condition changed_;
  std::deque<Task> tasks_ ABSL_GUARDED_BY(mutex_);
  size_t awake_ ABSL_GUARDED_BY(mutex_);  // number of threads that do not wait for a task
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;

  std::vector<std::thread> threads_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_WORKER_THREADS_H_
