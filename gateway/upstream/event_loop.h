// A libuv loop on its own thread.
#ifndef STAMPGATE_GATEWAY_UPSTREAM_EVENT_LOOP_H_
#define STAMPGATE_GATEWAY_UPSTREAM_EVENT_LOOP_H_

#include <uv.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace stampgate {

// Owns the loop and its thread, on which every task, timer and libuv callback runs. All signals are blocked on this
// thread.
class EventLoop {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  // Errors: kResourceExhausted if the system gives no descriptors for a loop.
  static absl::StatusOr<std::unique_ptr<EventLoop>> Start(const std::string& thread_name);

  // Runs the queued tasks, and then ends the thread. Every handle that was opened on uv() must be closed then, at the
  // latest by one of these tasks; otherwise the thread never ends. Must not be called on the loop's thread, nor while
  // another thread calls Run.
  ~EventLoop();

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Queues `task`, which the loop's thread then runs. Tasks run in the order in which they were queued. Thread-safe.
  // Never blocks.
  void Run(Task task);

  // Must be called only on the loop's thread.
  uv_loop_t* uv() { return &loop_; }

 private:
  EventLoop() = default;

  static void Wake(uv_async_t* async);

  uv_loop_t loop_;
  uv_async_t async_;
  // A mutex of the standard library, because ThreadSanitizer understands it.
  std::mutex mutex_;
  std::vector<Task> queue_;
  std::vector<Task> batch_;  // the tasks that run now; a member, so that its memory is reused
  std::thread thread_;
};

// Closes a libuv handle, and frees its memory when the loop has closed the handle. Must be used only on the loop's
// thread.
struct UvClose {
  template <typename Handle>
  void operator()(Handle* handle) const {
    uv_close(reinterpret_cast<uv_handle_t*>(handle),
             [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
  }
};

// Calls `fire` once for each Start. Must be created, used and destroyed on the loop's thread. `fire` may destroy the
// timer.
class Timer {
 public:
  Timer(EventLoop* loop, absl::AnyInvocable<void()> fire);

  // Calls `fire` after at least `delay`; if `delay` is zero, in the loop's next round. Replaces an earlier Start.
  void Start(absl::Duration delay);
  void Stop();

 private:
  struct Handle : uv_timer_t {
    absl::AnyInvocable<void()> fire;
  };

  std::unique_ptr<Handle, UvClose> handle_;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_UPSTREAM_EVENT_LOOP_H_
