#include "base/loop/event_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

namespace stampgate {
namespace {

using ::testing::ElementsAre;

TEST(EventLoopTest, TasksRunInOrderOnTheThreadOfTheLoop) {
  EventLoop loop("test");
  std::vector<int> ran;
  std::set<EventLoop*> loops;
  for (int i = 0; i < 3; ++i) {
    loop.Run([&, i] {
      ran.push_back(i);
      loops.insert(EventLoop::Current());
    });
  }
  loop.Stop();
  EXPECT_THAT(ran, ElementsAre(0, 1, 2));
  EXPECT_THAT(loops, ElementsAre(&loop));
  EXPECT_EQ(EventLoop::Current(), nullptr);
}

TEST(EventLoopTest, ATaskThatATaskQueuesRunsAfterIt) {
  EventLoop loop("test");
  std::vector<int> ran;
  loop.Run([&] {
    loop.Run([&] { ran.push_back(2); });
    ran.push_back(1);
  });
  loop.Stop();
  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST(EventLoopTest, StopDestroysTimersAndLaterTasksNeverRun) {
  auto used = std::make_shared<int>(0);
  {
    EventLoop loop("test");
    loop.RunAfter(absl::Hours(1), [used] { ++*used; });
    loop.Stop();
    EXPECT_EQ(used.use_count(), 1);
    loop.Run([used] { ++*used; });
    loop.Stop();
  }
  EXPECT_EQ(*used, 0);
  EXPECT_EQ(used.use_count(), 1);
}

TEST(EventLoopTest, TimersRunOnTheLoop) {
  EventLoop loop("test");
  std::promise<EventLoop*> ran;
  loop.RunAfter(absl::Milliseconds(1), [&] { ran.set_value(EventLoop::Current()); });
  EXPECT_EQ(ran.get_future().get(), &loop);
  EXPECT_TRUE(loop.CancelTimer(loop.RunAfter(absl::Hours(1), [] {})));
}

TEST(EventLoopTest, AnExceptionEndsOnlyItsTask) {
  EventLoop loop("test");
  bool ran = false;
  loop.Run([] { throw std::bad_alloc(); });
  loop.Run([&ran] { ran = true; });
  loop.Stop();
  EXPECT_TRUE(ran);
}

TEST(EventLoopsTest, HereIsTheLoopOfTheThreadAndElsewhereEachInTurn) {
  EventLoops loops(3);
  EXPECT_EQ(loops.size(), 3u);
  std::set<size_t> indexes;
  for (int i = 0; i < 3; ++i) indexes.insert(loops.Here());
  EXPECT_THAT(indexes, ElementsAre(0, 1, 2));
  for (size_t i = 0; i < 3; ++i) {
    std::promise<size_t> here;
    loops[i].Run([&] { here.set_value(loops.Here()); });
    EXPECT_EQ(here.get_future().get(), i);
  }
  // On a loop of other loops, each in turn too.
  EventLoops others(1);
  std::promise<size_t> here;
  others[0].Run([&] { here.set_value(loops.Here()); });
  EXPECT_LT(here.get_future().get(), 3u);
}

TEST(EventLoopsTest, WaitsForTheTasksOfAllLoops) {
  EventLoops loops(4);
  std::atomic<int> ran = 0;
  for (size_t i = 0; i < 400; ++i) loops[i % 4].Run([&ran] { ++ran; });
  loops.WaitForTasks();
  EXPECT_EQ(ran, 400);
}

TEST(EventLoopsTest, ReportsALoopThatDoesNotRunItsTasksInTime) {
  EventLoops loops(2);
  EXPECT_TRUE(loops.WaitForTasks(absl::Minutes(1)));
  std::promise<void> release;
  loops[1].Run([&] { release.get_future().wait(); });
  EXPECT_FALSE(loops.WaitForTasks(absl::Milliseconds(1)));
  release.set_value();
  EXPECT_TRUE(loops.WaitForTasks(absl::Minutes(1)));
}

TEST(EventLoopsTest, ThereIsAtLeastOneLoop) {
  EXPECT_EQ(EventLoops(0).size(), 1u);
  const auto loops = EventLoops::Start(0, "test");
  ASSERT_TRUE(loops.ok()) << loops.status();
  EXPECT_EQ((*loops)->size(), 1u);
}

}  // namespace
}  // namespace stampgate
