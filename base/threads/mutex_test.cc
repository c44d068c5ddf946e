#include "base/threads/mutex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace stampgate {
namespace {

TEST(MutexTest, OneThreadAtATimeHasTheLock) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 10'000;
  Mutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        MutexLock lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kRounds);
}

TEST(MutexTest, AnUnlockedMutexIsFreeUntilItIsLockedAgain) {
  Mutex mutex;
  // Another thread, because a thread must not try to lock a mutex that it holds.
  const auto is_free = [&mutex] {
    bool free = false;
    std::thread([&] {
      if (!mutex.TryLock()) return;
      free = true;
      mutex.Unlock();
    }).join();
    return free;
  };
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(is_free());
    lock.Unlock();
    EXPECT_TRUE(is_free());
    lock.Relock();
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
}

TEST(MutexTest, ALockThatWasUnlockedIsNotUnlockedTwice) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    lock.Unlock();
  }
  MutexLock lock(mutex);
}

TEST(ConditionTest, AWaitEndsWhenAnotherThreadWakesIt) {
  Mutex mutex;
  Condition changed;
  bool done = false;
  std::thread other([&] {
    MutexLock lock(mutex);
    done = true;
    changed.WakeAll();
  });
  {
    MutexLock lock(mutex);
    while (!done) changed.Wait(mutex);
  }
  other.join();
}

TEST(ConditionTest, AWaitEndsAtItsDeadline) {
  Mutex mutex;
  Condition changed;
  MutexLock lock(mutex);
  while (!changed.WaitUntil(mutex, std::chrono::steady_clock::now())) {
  }
}

}  // namespace
}  // namespace stampgate
