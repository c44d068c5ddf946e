#include "base/loop/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "base/loop/timer_queue.h"
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

struct EventLoop::Parts {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work = boost::asio::make_work_guard(io);
  TimerQueue timers{io};
};

EventLoop::EventLoop(const std::string& name)
    : parts_(std::make_unique<Parts>()), thread_(StartThread(name, [this] {
        current = this;
        RunHandlers(parts_->io);
      })) {}

EventLoop::~EventLoop() { Stop(); }

EventLoop* EventLoop::Current() { return current; }

void EventLoop::Run(Task task) {
  boost::asio::post(parts_->io, [task = std::move(task)]() mutable { std::move(task)(); });
}

TimerId EventLoop::RunAfter(absl::Duration delay, Task task) { return parts_->timers.Add(delay, std::move(task)); }

bool EventLoop::CancelTimer(const TimerId& id) { return parts_->timers.Cancel(id); }

boost::asio::io_context& EventLoop::io() { return parts_->io; }

const boost::asio::io_context& EventLoop::io() const { return parts_->io; }

void EventLoop::Stop() {
  if (!thread_.joinable()) return;
  Run([this] {
    parts_->timers.Clear();
    parts_->work.reset();
  });
  thread_.join();
}

}  // namespace stampgate
