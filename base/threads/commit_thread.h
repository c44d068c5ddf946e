// The thread of a log or a store: writes what other threads queue, in groups.
#ifndef STAMPGATE_BASE_THREADS_COMMIT_THREAD_H_
#define STAMPGATE_BASE_THREADS_COMMIT_THREAD_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "base/threads/wait_clock.h"

namespace stampgate {

// Alternates between writing a group of queued entries and a step of tidying, such as the deletion of old entries, so
// that neither delays the other for long. Each group has the entries that were queued while the previous one was
// written. The owner has the queue, and the lock of this object guards it.
//
// Thread-safe. The owner must call Close before it is destroyed.
class CommitThread {
 public:
  using Clock = std::chrono::steady_clock;

  // Has the queue, and writes its entries. A derived class adds ABSL_EXCLUSIVE_LOCKS_REQUIRED to the functions that run
  // with the lock held, because this class cannot name the lock.
  class Owner {
   public:
    // Runs with the lock held, on any thread. Returns when the thread must write the queued entries, if nothing more is
    // queued: kAtOnce if somebody waits for one of them, kNever if none is queued. The first of the entries for which
    // somebody waits thus wakes the thread, and the others do not.
    virtual Clock::time_point WriteAt() const = 0;

    // The other functions run on the thread. These two run with the lock held:

    // Returns until when the thread sleeps if nothing is queued. The thread then does a step of tidying.
    virtual Clock::time_point SleepUntil() const = 0;
    // Moves entries out of the queue: the next group. Returns for how many of them somebody waits. If there are
    // several, the thread waits for Options::gather before it takes the next group.
    virtual size_t TakeGroup() = 0;

    // These run without the lock:

    // Writes the group, which can be empty. Returns an error only if the thread cannot continue.
    virtual absl::Status WriteGroup() = 0;
    // Does a step of tidying. Returns whether there is more to tidy now. `wanted` is true if TidyNow waits for it.
    // Returns an error only if the thread cannot continue.
    virtual absl::StatusOr<bool> Tidy(bool wanted) { return false; }
    // Runs once, as the last function. If `status` is OK, the queue was closed, and the groups have all of its entries
    // that WriteAt has announced. Otherwise `status` is the error of a function above, and the queue can have entries.
    virtual void Stop(absl::Status status) = 0;

   protected:
    ~Owner() = default;
  };

  static constexpr Clock::time_point kAtOnce = Clock::time_point::min();
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  // Returns the time after `wait`, of which it uses at most a day: longer waits could overflow the clock's type.
  static Clock::time_point After(absl::Duration wait);

  struct Options {
    std::string thread_name;
    // For the texts of errors: what is written, such as "the event log", and on what, such as "the event log's disk".
    std::string subject;
    std::string medium;
    // How long an entry waits for further ones, if the previous group had several. A commit costs more CPU time than
    // what leads to it, so under load it should cover many entries.
    std::chrono::microseconds gather = std::chrono::microseconds(300);
    // The clock of under_way.
    std::function<Clock::time_point()> steady_now = Clock::now;
  };

  // `owner` must outlive this object.
  CommitThread(Options options, Owner& owner);
  CommitThread(const CommitThread&) = delete;
  CommitThread& operator=(const CommitThread&) = delete;
  ~CommitThread();

  // Starts the thread. Call it once, when the owner is complete.
  void Start();

  // Guards the owner's queue.
  Mutex& mutex() const ABSL_LOCK_RETURNED(mutex_) { return mutex_; }

  // Calls `add` with the lock held, and returns what it returns. `add` adds to the queue, or returns an error. Instead
  // of calling `add`, returns the error that Refuse has set, or kUnavailable after Close, and while a write hangs,
  // because the entry would then wait for long.
  absl::Status Add(absl::FunctionRef<absl::Status()> add);

  // Calls `change` with the lock held, in any case. `change` can add to the queue.
  void Change(absl::FunctionRef<void()> change);

  // From now on, Add returns `failure`. After OK, Add accepts entries again.
  void Refuse(const absl::Status& failure);

  const absl::Status& failure() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return failure_; }
  bool closed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_; }

  // Returns how long the thread has written or tidied so far; zero if it does not.
  absl::Duration under_way() const { return wait_.under_way(); }
  // The clock of under_way, for an owner whose functions do more than to wait for one write. Use it on the thread.
  WaitClock& wait() { return wait_; }

  // Returns when the queued entries are written and the thread has ended. Must not be called on the thread.
  void Close();

  // For tests: returns when nothing is left to tidy, or when the thread has ended.
  void TidyNow();

 private:
  void Run();
  void WaitForWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  Owner& owner_;
  WaitClock wait_;

  mutable Mutex mutex_;
  Condition wake_;                                // wakes the thread
  Condition tidied_;                              // wakes TidyNow
  bool gathers_ ABSL_GUARDED_BY(mutex_) = false;  // the previous group had several entries for which somebody waited
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // what Add returns; OK if it accepts entries
  int64_t tidies_wanted_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t tidies_done_ ABSL_GUARDED_BY(mutex_) = 0;
  std::once_flag joined_;
  std::thread thread_;
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_THREADS_COMMIT_THREAD_H_
