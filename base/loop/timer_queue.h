// Tasks that run later.
#ifndef STAMPGATE_BASE_LOOP_TIMER_QUEUE_H_
#define STAMPGATE_BASE_LOOP_TIMER_QUEUE_H_

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/wait_traits.hpp>
#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "base/loop/timer_id.h"
#include "base/threads/mutex.h"

namespace stampgate {

// The tasks of one io_context, which must run on one thread. Thread-safe.
//
// Most timers are cancelled before they fire: each call has one for its deadline. Therefore only the earliest task has
// a timer of Asio, and a task that is cancelled leaves that timer alone.
class TimerQueue {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  explicit TimerQueue(boost::asio::io_context& io) : timer_(io) {}

  // Runs `task` on the io_context after `delay`, never inside of Add.
  TimerId Add(absl::Duration delay, Task task);

  // Destroys the task, and returns true. Returns false if the task has run, runs now, or was cancelled.
  bool Cancel(const TimerId& id);

  // Destroys all tasks. From now on, Add destroys its task. Must be called on the thread of the io_context.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;
  using Timer =
      boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, boost::asio::io_context::executor_type>;
  using Key = std::pair<int64_t, uint64_t>;

  // On the thread of the io_context.
  void Arm();
  void RunDue();

  Timer timer_;  // used only on the thread of the io_context
  Mutex mutex_;
  absl::btree_map<Key, Task> tasks_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t armed_ns_ ABSL_GUARDED_BY(mutex_) = kNever;  // when the timer fires, or will when Arm has run
  bool cleared_ ABSL_GUARDED_BY(mutex_) = false;

  static constexpr int64_t kNever = INT64_MAX;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_LOOP_TIMER_QUEUE_H_
