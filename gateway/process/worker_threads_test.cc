#include "gateway/process/worker_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <vector>

namespace stampgate {
namespace {

TEST(WorkerThreadsTest, OneThreadRunsTasksInTheOrderOfTheQueue) {
  std::vector<int> ran;
  {
    WorkerThreads threads("test", 1);
    for (int i = 0; i < 100; ++i) threads.Run([&ran, i] { ran.push_back(i); });
  }
  ASSERT_EQ(ran.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[i], i);
}

TEST(WorkerThreadsTest, TasksRunAtTheSameTimeOnDifferentThreads) {
  std::atomic<int> begun = 0;
  std::latch all(3);
  WorkerThreads threads("test", 3);
  for (int i = 0; i < 100; ++i) {
    threads.Run([&] {
      if (++begun <= 3) all.arrive_and_wait();
    });
  }
  all.wait();
}

TEST(WorkerThreadsTest, RunDoesNotWaitForATask) {
  std::latch go_on(1);
  std::atomic<int> ran = 0;
  {
    WorkerThreads threads("test", 1);
    for (int i = 0; i < 2; ++i) {
      threads.Run([&] {
        go_on.wait();
        ++ran;
      });
    }
    EXPECT_EQ(ran, 0);
    go_on.count_down();
  }
  EXPECT_EQ(ran, 2);
}

TEST(WorkerThreadsTest, ATaskMayQueueAnotherTask) {
  std::atomic<int> ran = 0;
  {
    WorkerThreads threads("test", 2);
    threads.Run([&] { threads.Run([&] { ++ran; }); });
  }
  EXPECT_EQ(ran, 1);
}

TEST(WorkerThreadsTest, ATaskIsDestroyedAfterItHasRun) {
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> watched = held;
  std::latch ran(1);
  WorkerThreads threads("test", 1);
  threads.Run([held = std::move(held)] {});
  threads.Run([&] {
    EXPECT_TRUE(watched.expired());
    ran.count_down();
  });
  ran.wait();
}

TEST(WorkerThreadsTest, IfTheCountIsZeroThereIsOneThread) {
  std::latch ran(1);
  WorkerThreads threads("test", 0);
  threads.Run([&ran] { ran.count_down(); });
  ran.wait();
}

}  // namespace
}  // namespace stampgate
