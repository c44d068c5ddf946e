#include "base/loop/timer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;

class TimerQueueTest : public ::testing::Test {
 protected:
  // Runs the io_context until no timer is armed.
  void RunAll() {
    io_.restart();
    io_.run();
  }

  TimerQueue::Task Note(int number) {
    return [this, number] { ran_.push_back(number); };
  }

  boost::asio::io_context io_{1};
  TimerQueue timers_{io_};
  std::vector<int> ran_;
};

TEST_F(TimerQueueTest, TasksRunInTheOrderOfTheirTimes) {
  timers_.Add(absl::Milliseconds(3), Note(3));
  timers_.Add(absl::Milliseconds(1), Note(1));
  timers_.Add(absl::Milliseconds(2), Note(2));
  timers_.Add(absl::ZeroDuration(), Note(0));
  timers_.Add(-absl::InfiniteDuration(), Note(-1));
  EXPECT_THAT(ran_, ElementsAre());
  RunAll();
  EXPECT_THAT(ran_, ElementsAre(0, -1, 1, 2, 3));
}

TEST_F(TimerQueueTest, ATaskRunsNotBeforeItsTime) {
  const auto began = std::chrono::steady_clock::now();
  timers_.Add(absl::Milliseconds(20), Note(1));
  RunAll();
  EXPECT_THAT(ran_, ElementsAre(1));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(20));
}

TEST_F(TimerQueueTest, ACancelledTaskIsDestroyedAndDoesNotRun) {
  auto used = std::make_shared<int>(0);
  const TimerId first = timers_.Add(absl::ZeroDuration(), [used] { ++*used; });
  timers_.Add(absl::Milliseconds(1), Note(2));
  EXPECT_TRUE(timers_.Cancel(first));
  EXPECT_EQ(used.use_count(), 1);
  EXPECT_FALSE(timers_.Cancel(first));
  RunAll();
  EXPECT_EQ(*used, 0);
  EXPECT_THAT(ran_, ElementsAre(2));
}

TEST_F(TimerQueueTest, ATaskThatHasRunOrRunsCannotBeCancelled) {
  TimerId id;
  bool cancelled = true;
  id = timers_.Add(absl::ZeroDuration(), [&] { cancelled = timers_.Cancel(id); });
  RunAll();
  EXPECT_FALSE(cancelled);
  EXPECT_FALSE(timers_.Cancel(id));
  EXPECT_FALSE(timers_.Cancel({}));
}

TEST_F(TimerQueueTest, ATaskMayAddAndCancelOthers) {
  const TimerId last = timers_.Add(absl::Hours(1), Note(9));
  timers_.Add(absl::ZeroDuration(), [&] {
    timers_.Add(absl::ZeroDuration(), Note(2));
    timers_.Cancel(last);
    Note(1)();
  });
  RunAll();
  EXPECT_THAT(ran_, ElementsAre(1, 2));
}

TEST_F(TimerQueueTest, AnExceptionEndsOnlyItsTask) {
  timers_.Add(absl::ZeroDuration(), [] { throw std::bad_alloc(); });
  timers_.Add(absl::Milliseconds(1), Note(1));
  RunAll();
  timers_.Add(absl::ZeroDuration(), Note(2));
  RunAll();
  EXPECT_THAT(ran_, ElementsAre(1, 2));
}

TEST_F(TimerQueueTest, ClearDestroysAllTasks) {
  auto used = std::make_shared<int>(0);
  timers_.Add(absl::Hours(1), [used] { ++*used; });
  timers_.Clear();
  EXPECT_EQ(used.use_count(), 1);
  timers_.Add(absl::ZeroDuration(), [used] { ++*used; });
  EXPECT_EQ(used.use_count(), 1);
  RunAll();  // ends, because no timer is armed
  EXPECT_EQ(*used, 0);
}

TEST_F(TimerQueueTest, InfiniteDelaysAreShortened) {
  const TimerId id = timers_.Add(absl::InfiniteDuration(), Note(1));
  EXPECT_TRUE(timers_.Cancel(id));
}

TEST_F(TimerQueueTest, EachTaskRunsOrIsCancelledOnceWithManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 2000;
  auto work = boost::asio::make_work_guard(io_);
  std::thread loop([this] { io_.run(); });
  std::atomic<int> ran = 0;
  std::atomic<int> cancelled = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i) {
        const TimerId id = timers_.Add(absl::Microseconds((i * 7 + t) % 300), [&ran] { ++ran; });
        if (i % 2 == 0 && timers_.Cancel(id)) ++cancelled;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::promise<void> last;
  timers_.Add(absl::Milliseconds(1), [&last] { last.set_value(); });
  last.get_future().wait();
  work.reset();
  loop.join();
  EXPECT_EQ(ran + cancelled, kThreads * kTasks);
  EXPECT_GT(cancelled, 0);
}

}  // namespace
}  // namespace stampgate
