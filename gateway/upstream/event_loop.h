// A libuv loop on a thread of its own.
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

// Owns the loop and its thread, on which every task, timer and libuv callback runs. All signals are blocked there.
class EventLoop {
 public:
  using Task = absl::AnyInvocable<void() &&>;

  // Errors: kResourceExhausted if the system gives no descriptors for a loop.
  static absl::StatusOr<std::unique_ptr<EventLoop>> Start(const std::string& thread_name);

  // Runs the tasks that are queued, then ends the thread. One of them must close what was opened on uv(), or the thread
  // never ends. Not on the loop's thread, and not while another thread is in Run.
  ~EventLoop();

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs `task` on the loop's thread; tasks keep the order in which they came. Thread-safe, never blocks.
  void Run(Task task);

  // For the loop's thread only.
  uv_loop_t* uv() { return &loop_; }

 private:
  EventLoop() = default;

  static void Wake(uv_async_t* async);

  uv_loop_t loop_;
  uv_async_t async_;
  // Not absl::Mutex: ThreadSanitizer does not see through Debian's build of Abseil.
  std::mutex mutex_;
  std::vector<Task> queue_;
  std::vector<Task> batch_;  // the loop's own; kept for its memory
  std::thread thread_;
};

// Closes a libuv handle, whose memory must stay until the loop has seen that. For the loop's thread only.
struct UvClose {
  template <typename Handle>
  void operator()(Handle* handle) const {
    uv_close(reinterpret_cast<uv_handle_t*>(handle),
             [](uv_handle_t* closed) { delete reinterpret_cast<Handle*>(closed); });
  }
};

// Fires once for each Start. Lives and dies on the loop's thread; may be destroyed while it fires.
class Timer {
 public:
  Timer(EventLoop* loop, absl::AnyInvocable<void()> fire);

  // At the earliest `delay` from now, a delay of zero in the loop's next round. Replaces an earlier Start.
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
