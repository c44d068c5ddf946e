#include "base/loop/event_loops.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace stampgate {

absl::StatusOr<std::shared_ptr<EventLoops>> EventLoops::Start(size_t count, absl::string_view name) {
  try {
    return std::make_shared<EventLoops>(count, name);
  } catch (const std::exception& error) {
    return absl::ResourceExhaustedError(absl::StrCat("cannot start an event loop: ", error.what()));
  }
}

EventLoops::EventLoops(size_t count, absl::string_view name) {
  for (size_t i = 0; i < std::max<size_t>(count, 1); ++i) {
    loops_.push_back(std::make_unique<EventLoop>(absl::StrCat(name, "-", i)));
  }
}

size_t EventLoops::Here() {
  if (const EventLoop* const current = EventLoop::Current(); current != nullptr) {
    for (size_t i = 0; i < loops_.size(); ++i) {
      if (loops_[i].get() == current) return i;
    }
  }
  return next_.fetch_add(1, std::memory_order_relaxed) % loops_.size();
}

void EventLoops::WaitForTasks() {
  for (const std::future<void>& end : EndsOfTasks()) end.wait();
}

bool EventLoops::WaitForTasks(absl::Duration timeout) {
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout);
  const std::vector<std::future<void>> ends = EndsOfTasks();
  return absl::c_all_of(
      ends, [&](const std::future<void>& end) { return end.wait_until(deadline) == std::future_status::ready; });
}

std::vector<std::future<void>> EventLoops::EndsOfTasks() {
  std::vector<std::future<void>> ends;
  for (const std::unique_ptr<EventLoop>& loop : loops_) {
    std::promise<void> end;
    ends.push_back(end.get_future());
    loop->Run([end = std::move(end)]() mutable { end.set_value(); });
  }
  return ends;
}

}  // namespace stampgate
