// Several event loops.
#ifndef STAMPGATE_BASE_LOOP_EVENT_LOOPS_H_
#define STAMPGATE_BASE_LOOP_EVENT_LOOPS_H_

#include <atomic>
#include <cstddef>
#include <future>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/loop/event_loop.h"

namespace stampgate {

// Several event loops, among which the connections are divided. Thread-safe.
class EventLoops {
 public:
  // Starts `count` loops, at least one, with the names NAME-0, NAME-1, ... of `name`. Error: kResourceExhausted if the
  // system has no descriptor or no thread left.
  static absl::StatusOr<std::shared_ptr<EventLoops>> Start(size_t count, absl::string_view name);

  // Like Start, but throws as EventLoop does.
  explicit EventLoops(size_t count, absl::string_view name = "loop");

  size_t size() const { return loops_.size(); }
  EventLoop& operator[](size_t index) const { return *loops_[index]; }

  // Returns the index of the loop that runs the calling thread. On any other thread, returns one index after the other.
  size_t Here();

  // Waits until every loop has run the tasks that it has queued now. Must not be called on the thread of a loop.
  void WaitForTasks();

  // Like above, but waits for at most `timeout`. Returns false if a loop has not run its tasks by then.
  bool WaitForTasks(absl::Duration timeout);

 private:
  // Returns one future for each loop, which is ready when the loop has run the tasks that it has queued now.
  std::vector<std::future<void>> EndsOfTasks();

  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_LOOP_EVENT_LOOPS_H_
