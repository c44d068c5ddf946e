// A mutex and a condition whose use the compiler checks.
//
// std::mutex has no annotations, and absl::Mutex is not instrumented for ThreadSanitizer in the libraries that the
// project uses. These classes add Abseil's annotations to the standard library's mutex. Every member that a mutex
// guards has ABSL_GUARDED_BY, and every function that needs the lock has ABSL_EXCLUSIVE_LOCKS_REQUIRED. tests/lint then
// finds each access without the lock.
#ifndef STAMPGATE_BASE_THREADS_MUTEX_H_
#define STAMPGATE_BASE_THREADS_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"

namespace stampgate {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  // Returns whether this thread has the lock now.
  bool TryLock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) { return mutex_.try_lock(); }

 private:
  friend class Condition;

  std::mutex mutex_;
};

// Holds the lock until it is destroyed, except between Unlock and Relock.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() {
    if (holds_) mutex_.Unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() ABSL_UNLOCK_FUNCTION() {
    holds_ = false;
    mutex_.Unlock();
  }
  void Relock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    mutex_.Lock();
    holds_ = true;
  }

 private:
  Mutex& mutex_;
  bool holds_ = true;
};

// Lets threads wait for a change. A wait can end without one, so it belongs into a loop that checks what it waits for:
// the compiler cannot see that a lambda runs with the lock, therefore no wait takes a predicate.
class Condition {
 public:
  // Waits until another thread wakes this one. `mutex` is free during the wait.
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // Does the same, but waits no longer than until `deadline`. Returns whether the deadline has passed.
  template <typename Clock, typename Duration>
  bool WaitUntil(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(lock, deadline);
    lock.release();
    return status == std::cv_status::timeout;
  }

  void WakeOne() { condition_.notify_one(); }
  void WakeAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_THREADS_MUTEX_H_
