// The calls and streams in progress: a drain waits for them and admits no more.
#ifndef STAMPGATE_GATEWAY_CALLS_CALLS_IN_FLIGHT_H_
#define STAMPGATE_GATEWAY_CALLS_CALLS_IN_FLIGHT_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_set>

namespace stampgate {

// Thread-safe. `Context` is gRPC's context of a call. It must live until End or EndRefused is called for the call.
//
// A call is either admitted or refused. A refused call ends immediately, but sending its error takes time.
template <typename Context>
class CallsInFlight {
 public:
  using Clock = std::chrono::steady_clock;

  // Returns true if it admits the call; End must then be called when the call ends. After Drain, returns false; the
  // call must then be refused, and EndRefused must be called when the refusal has been sent.
  bool Begin(const Context& call) {
    std::lock_guard lock(mutex_);
    if (draining_) {
      ++refused_;
      return false;
    }
    admitted_.insert(&call);
    return true;
  }

  void End(const Context& call) {
    std::lock_guard lock(mutex_);
    admitted_.erase(&call);
    if (admitted_.empty()) changed_.notify_all();  // holds the lock, because the woken thread can destroy this object
  }

  void EndRefused() {
    std::lock_guard lock(mutex_);
    if (--refused_ == 0) changed_.notify_all();
  }

  // From now on, Begin admits no call.
  void Drain() {
    std::lock_guard lock(mutex_);
    draining_ = true;
  }

  // Waits until no admitted call is left, or until `deadline`. Returns whether no admitted call is left.
  bool WaitUntilNone(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return admitted_.empty(); });
  }

  // Waits like WaitUntilNone, until no refused call is left.
  bool WaitUntilNoneRefused(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return refused_ == 0; });
  }

  // Calls `visit` with the context of every admitted call. While ForEach runs, calls cannot begin or end.
  template <typename Visit>
  void ForEach(Visit visit) const {
    std::lock_guard lock(mutex_);
    for (const Context* call : admitted_) visit(*call);
  }

 private:
  // A mutex of the standard library, because ThreadSanitizer understands it.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_set<const Context*> admitted_;
  int refused_ = 0;
  bool draining_ = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALLS_IN_FLIGHT_H_
