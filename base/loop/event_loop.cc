#include "base/loop/event_loop.h"

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "base/threads/start_thread.h"

namespace stampgate {
namespace {

thread_local EventLoop* current = nullptr;

// Runs the handlers of `io` until none is left. Our code throws no exceptions, but Asio can throw one if memory is
// short. In that case, only the handler that threw is lost, together with the objects that only this handler owned.
void RunHandlers(boost::asio::io_context& io) {
  while (true) {
    try {
      io.run();
      return;
    } catch (const std::exception&) {
    }
  }
}

}  // namespace

EventLoop::EventLoop(const std::string& name)
    : work_(boost::asio::make_work_guard(io_)), timers_(io_), thread_(StartThread(name, [this] {
        current = this;
        RunHandlers(io_);
      })) {}

EventLoop::~EventLoop() { Stop(); }

EventLoop* EventLoop::Current() { return current; }

void EventLoop::Run(Task task) {
  boost::asio::post(io_, [task = std::move(task)]() mutable { std::move(task)(); });
}

TimerQueue::Id EventLoop::RunAfter(absl::Duration delay, Task task) { return timers_.Add(delay, std::move(task)); }

bool EventLoop::CancelTimer(const TimerQueue::Id& id) { return timers_.Cancel(id); }

void EventLoop::Stop() {
  if (!thread_.joinable()) return;
  Run([this] {
    timers_.Clear();
    work_.reset();
  });
  thread_.join();
}

}  // namespace stampgate
