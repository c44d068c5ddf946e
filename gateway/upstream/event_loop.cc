#include "gateway/upstream/event_loop.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "webhooks/threads/start_thread.h"

namespace stampgate {

absl::StatusOr<std::unique_ptr<EventLoop>> EventLoop::Start(const std::string& thread_name) {
  std::unique_ptr<EventLoop> loop(new EventLoop);
  int error = uv_loop_init(&loop->loop_);
  if (error == 0) {
    error = uv_async_init(&loop->loop_, &loop->async_, &EventLoop::Wake);
    if (error != 0) uv_loop_close(&loop->loop_);
  }
  if (error != 0) return absl::ResourceExhaustedError(absl::StrCat("event loop: ", uv_strerror(error)));
  loop->async_.data = loop.get();

  loop->thread_ = StartThread(thread_name, [uv = &loop->loop_] { uv_run(uv, UV_RUN_DEFAULT); });
  return loop;
}

EventLoop::~EventLoop() {
  if (!thread_.joinable()) return;  // Start failed
  Run([this] { uv_close(reinterpret_cast<uv_handle_t*>(&async_), nullptr); });
  thread_.join();
  uv_loop_close(&loop_);
}

void EventLoop::Run(Task task) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    first = queue_.empty();
    queue_.push_back(std::move(task));
  }
  // Wakes the thread once for each batch of tasks, and after this thread has released the lock, which the woken thread
  // needs immediately.
  if (first) uv_async_send(&async_);
}

void EventLoop::Wake(uv_async_t* async) {
  auto* self = static_cast<EventLoop*>(async->data);
  {
    std::lock_guard lock(self->mutex_);
    self->batch_.swap(self->queue_);
  }
  uv_update_time(&self->loop_);  // timers that the tasks start count from now, not from the last wake-up
  for (Task& task : self->batch_) {
    std::move(task)();
    task = nullptr;
  }
  self->batch_.clear();
}

Timer::Timer(EventLoop* loop, absl::AnyInvocable<void()> fire) : handle_(new Handle) {
  handle_->fire = std::move(fire);
  uv_timer_init(loop->uv(), handle_.get());
}

void Timer::Start(absl::Duration delay) {
  // Rounds up the delay: a timer that fires too early would be started again for the rest of the delay, many times.
  // Limits the delay, because libuv has no infinite delay.
  const absl::Duration bounded = std::clamp(delay, absl::ZeroDuration(), absl::Hours(24 * 365));
  uv_timer_start(
      handle_.get(), [](uv_timer_t* timer) { static_cast<Handle*>(timer)->fire(); },
      absl::ToInt64Milliseconds(absl::Ceil(bounded, absl::Milliseconds(1))), /*repeat=*/0);
}

void Timer::Stop() { uv_timer_stop(handle_.get()); }

}  // namespace stampgate
