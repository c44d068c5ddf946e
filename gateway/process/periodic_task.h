// Runs a task repeatedly on its own thread.
#ifndef STAMPGATE_GATEWAY_PROCESS_PERIODIC_TASK_H_
#define STAMPGATE_GATEWAY_PROCESS_PERIODIC_TASK_H_

#include <functional>
#include <string>
#include <thread>

#include "absl/time/time.h"
#include "base/threads/mutex.h"

namespace stampgate {

// Thread-safe.
class PeriodicTask {
 public:
  // Runs `task` every `interval` on a thread of this name (see StartThread). The first run begins after one interval.
  PeriodicTask(const std::string& name, absl::Duration interval, std::function<void()> task);
  // Starts no further runs, and waits for a run that is in progress.
  ~PeriodicTask();

  PeriodicTask(const PeriodicTask&) = delete;
  PeriodicTask& operator=(const PeriodicTask&) = delete;

  // Makes the thread run the task immediately. If the task is running now, the thread runs the task again after this
  // run.
  void Wake();

  // The task may call this function while it runs. The next run of the task then begins after `time` or after the
  // interval, whichever is shorter.
  void RunAgainIn(absl::Duration time);

 private:
  void Work();

  const absl::Duration interval_;
  const std::function<void()> task_;

  Mutex mutex_;
  Condition changed_;
  bool wake_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration next_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_PROCESS_PERIODIC_TASK_H_
