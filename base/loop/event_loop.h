// An event loop on a thread of its own.
#ifndef STAMPGATE_BASE_LOOP_EVENT_LOOP_H_
#define STAMPGATE_BASE_LOOP_EVENT_LOOP_H_

#include <memory>
#include <string>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "base/loop/timer_id.h"

// Asio's headers are large, and most files that include this one use no object of Asio.
namespace boost::asio {
class io_context;
}

namespace stampgate {

// Runs tasks, timers and the handlers of Asio's objects on one thread, which blocks all signals. A task, like every
// handler, must not block. Thread-safe.
class EventLoop {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  // `name` is the name of the thread (see StartThread). Throws an exception of Asio or of the standard library if the
  // system has no descriptor or no thread left.
  explicit EventLoop(const std::string& name);

  // Like Stop.
  ~EventLoop();

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Returns the loop that runs the calling thread; null on any other thread.
  static EventLoop* Current();

  // Queues `task`. Tasks run in the order in which they were queued, never inside of Run.
  void Run(Task task);

  // Runs `task` once after `delay`, unless CancelTimer prevents that. The timer counts from now.
  TimerId RunAfter(absl::Duration delay, Task task);

  // Destroys the task of a timer, and returns true. Returns false if the task has run, runs now, or was cancelled.
  bool CancelTimer(const TimerId& id);

  // Ends the thread: first runs the queued tasks, and waits until no handler of an Asio object is left. Destroys the
  // tasks of the timers. Tasks that are queued later never run. Must not be called on the thread of a loop.
  void Stop();

  // The context for Asio's objects. They must be destroyed before the loop.
  boost::asio::io_context& io();
  const boost::asio::io_context& io() const;

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
  std::thread thread_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_LOOP_EVENT_LOOP_H_
