// Helpers for the tests of admission: a clock and timers that the test controls.
#ifndef STAMPGATE_GATEWAY_ADMISSION_TESTING_H_
#define STAMPGATE_GATEWAY_ADMISSION_TESTING_H_

#include <algorithm>
#include <map>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace stampgate {

// A clock whose time the test sets, and the tasks that run at their times. Not thread-safe.
class VirtualTime {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  absl::Time now() const { return now_; }

  void RunAfter(absl::Duration delay, Task task) { tasks_.emplace(now_ + delay, std::move(task)); }

  // Lets the time pass without running a task: the tasks are late.
  void Sleep(absl::Duration time) { now_ += time; }

  // Lets the time pass, and runs the tasks that become due, each at its time.
  void Pass(absl::Duration time) {
    const absl::Time end = now_ + time;
    while (!tasks_.empty() && tasks_.begin()->first <= end) {
      auto task = tasks_.extract(tasks_.begin());
      now_ = std::max(now_, task.key());
      std::move(task.mapped())();
    }
    now_ = end;
  }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1'000'000);
  std::multimap<absl::Time, Task> tasks_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_ADMISSION_TESTING_H_
