// Decides which calls and webhook deliveries are traced, and keeps them from their end until they are exported.
#ifndef STAMPGATE_GATEWAY_TELEMETRY_TRACER_H_
#define STAMPGATE_GATEWAY_TELEMETRY_TRACER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/telemetry/traced_call.h"

namespace stampgate {

// Below, "call" includes a webhook delivery, whose sender sends no trace. Thread-safe. Never blocks: the lock is held
// only to add or take calls.
class Tracer {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  struct Options {
    double sampling_ratio = 0;  // of the calls whose caller has sent no trace: from 0 to 1
    size_t max_queued = 0;      // the largest number of ended calls that wait for their export
    std::function<uint64_t()> random;
    std::function<absl::Time()> now;
    std::function<SteadyTime()> steady_now;
    std::function<void()> on_drop;  // called for each dropped call, on the thread that queues it; must not block
  };

  explicit Tracer(Options options);

  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Returns whether to trace a call. If the caller has sent a trace, its flag "sampled" decides.
  bool Samples(std::optional<bool> callers_flag) const;

  // Returns a span id, which is not 0.
  uint64_t NewSpanId() const;
  absl::Time now() const { return options_.now(); }
  SteadyTime steady_now() const { return options_.steady_now(); }

  // Queues an ended call. If the queue is full or closed, drops the call.
  void Queue(std::unique_ptr<const TracedCall> call);

  // Removes the oldest calls from the queue, `most` at most, and returns them.
  std::vector<std::unique_ptr<const TracedCall>> Take(size_t most);

  // Sets the function that is called when the queue has become half full, on the thread that calls Queue, with a lock
  // held. It must not block. Must be called before the first call of Queue.
  void OnHalfFull(std::function<void()> wake) { on_half_full_ = std::move(wake); }

  // From now on, Queue drops all calls, and the function of OnHalfFull is not called.
  void Close();

 private:
  const Options options_;
  std::function<void()> on_half_full_;
  Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::unique_ptr<const TracedCall>> queue_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_TELEMETRY_TRACER_H_
