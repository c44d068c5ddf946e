// The calls and streams in progress: limits their number, and a drain waits for them and admits no more.
#ifndef STAMPGATE_GATEWAY_CALLS_CALLS_IN_FLIGHT_H_
#define STAMPGATE_GATEWAY_CALLS_CALLS_IN_FLIGHT_H_

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/threads/mutex.h"
#include "gateway/calls/caller_quota.h"
#include "gateway/calls/shutting_down.h"

namespace stampgate {

// A call that can last long after its connection has lost the right to exist.
class Dismissable {
 public:
  virtual ~Dismissable() = default;

  // Reports that the identity of the connection belongs to no caller any more, so that the connection ends in seconds.
  // The call should end before that. May be called on any thread, at any time, even after the reply. Must not block.
  virtual void Dismiss() = 0;
};

// Thread-safe. `Context` is gRPC's context of a call. It must live until End or EndRefused is called for the call.
//
// A call is either admitted or refused. A refused call ends immediately, but sending its error takes time.
template <typename Context>
class CallsInFlight {
 public:
  using Clock = std::chrono::steady_clock;

  // How many calls can be admitted at the same time.
  struct Limits {
    size_t calls = std::numeric_limits<size_t>::max();
    size_t calls_per_caller = std::numeric_limits<size_t>::max();
  };

  CallsInFlight() : CallsInFlight(Limits()) {}
  explicit CallsInFlight(const Limits& limits)
      : calls_({.max = limits.calls,
                .max_per_caller = limits.calls_per_caller,
                .what = "calls",
                .reason = v1::ERROR_REASON_TOO_MANY_CALLS,
                .retry_delay = absl::Seconds(1),
                .effect = "; nothing was sent upstream"}) {}

  // Returns OK if it admits the call; End must then be called when the call ends.
  // Otherwise the call must be refused with the error, and EndRefused must be called when the refusal has been sent.
  // Errors: UNAVAILABLE (SHUTTING_DOWN) after Drain; RESOURCE_EXHAUSTED (TOO_MANY_CALLS) if the limit in all leaves no
  // space for the call.
  absl::Status Begin(const Context& call) {
    absl::StatusOr<CallerShare> count = calls_.Take();
    {
      MutexLock lock(mutex_);
      if (!draining_ && count.ok()) {
        admitted_.emplace(&call, Admitted{*std::move(count)});
        return absl::OkStatus();
      }
      ++refused_;
      if (!draining_) return count.status();
    }
    return ShuttingDown();
  }

  // Counts the admitted call for `caller`. Does nothing if the call already counts for a caller. If `dismissable` is
  // set, ToDismiss can return it until End. Errors: RESOURCE_EXHAUSTED (TOO_MANY_CALLS) if the limit of the caller
  // leaves no space for the call; the call must then end with the error.
  absl::Status SetCaller(const Context& call, absl::string_view caller, std::weak_ptr<Dismissable> dismissable = {}) {
    MutexLock lock(mutex_);
    Admitted& admitted = admitted_.at(&call);
    admitted.dismissable = std::move(dismissable);
    return admitted.share.SetCaller(caller);
  }

  void End(const Context& call) {
    MutexLock lock(mutex_);
    admitted_.erase(&call);
    if (admitted_.empty()) changed_.WakeAll();  // holds the lock, because the woken thread can destroy this object
  }

  void EndRefused() {
    MutexLock lock(mutex_);
    if (--refused_ == 0) changed_.WakeAll();
  }

  // From now on, Begin admits no call.
  void Drain() {
    MutexLock lock(mutex_);
    draining_ = true;
  }

  // Waits until no admitted call is left, or until `deadline`. Returns whether no admitted call is left.
  bool WaitUntilNone(Clock::time_point deadline) {
    MutexLock lock(mutex_);
    while (!admitted_.empty() && !changed_.WaitUntil(mutex_, deadline)) {
    }
    return admitted_.empty();
  }

  // Waits like WaitUntilNone, until no refused call is left.
  bool WaitUntilNoneRefused(Clock::time_point deadline) {
    MutexLock lock(mutex_);
    while (refused_ != 0 && !changed_.WaitUntil(mutex_, deadline)) {
    }
    return refused_ == 0;
  }

  // Returns the calls that can be dismissed and whose contexts satisfy `select`.
  template <typename Select>
  std::vector<std::shared_ptr<Dismissable>> ToDismiss(Select select) const {
    std::vector<std::shared_ptr<Dismissable>> calls;
    MutexLock lock(mutex_);
    for (const auto& [call, admitted] : admitted_) {
      std::shared_ptr<Dismissable> dismissable = admitted.dismissable.lock();
      if (dismissable != nullptr && select(*call)) calls.push_back(std::move(dismissable));
    }
    return calls;
  }

  // Calls `visit` with the context of every admitted call. While ForEach runs, calls cannot begin or end.
  template <typename Visit>
  void ForEach(Visit visit) const {
    MutexLock lock(mutex_);
    for (const auto& [call, admitted] : admitted_) visit(*call);
  }

 private:
  struct Admitted {
    CallerShare share;
    std::weak_ptr<Dismissable> dismissable = {};
  };

  mutable Mutex mutex_;
  Condition changed_;
  CallerQuota calls_;
  std::unordered_map<const Context*, Admitted> admitted_ ABSL_GUARDED_BY(mutex_);
  int refused_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_CALLS_IN_FLIGHT_H_
