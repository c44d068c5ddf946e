// Reserves timestamps for this process in the call store, so that no later process chooses them.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_RESERVE_H_
#define STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_RESERVE_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/threads/mutex.h"
#include "gateway/operations/timestamp_allocator.h"
#include "gateway/process/periodic_task.h"
#include "gateway/store/call_store.h"

namespace stampgate {

// Raises the mark of the allocator early, before the chosen values reach the mark. So no submit waits until the disk
// has written a mark. Thread-safe.
class TimestampReserve {
 public:
  // How far ahead of the clock Raise sets the mark.
  static constexpr absl::Duration kBlock = absl::Seconds(10);
  // The time between two calls of Raise.
  static constexpr absl::Duration kInterval = absl::Seconds(3);

  // Raises the mark for the first time and waits for the store. If several processes share the store, its server need
  // not be reachable: the allocator then chooses no value until a later Raise succeeds. `store` and `timestamps` must
  // exist until CallStore::Close has returned. Errors: those of CallStore::RaiseTimestamps.
  static absl::StatusOr<std::unique_ptr<TimestampReserve>> Start(CallStore& store, TimestampAllocator& timestamps,
                                                                 bool is_shared, std::function<absl::Time()> now);

  TimestampReserve(const TimestampReserve&) = delete;
  TimestampReserve& operator=(const TimestampReserve&) = delete;

  // Raises the mark to kBlock after the clock or, if that is later, to kBlock after the highest chosen value. Never
  // lowers the mark. Does not wait for the disk: calls `done` when the mark is raised or when the store has failed to
  // write it, perhaps on the store's thread.
  void Raise(std::function<void(const absl::Status&)> done);

 private:
  TimestampReserve(CallStore& store, TimestampAllocator& timestamps, std::function<absl::Time()> now)
      : store_(store), timestamps_(timestamps), now_(std::move(now)) {}

  CallStore& store_;
  TimestampAllocator& timestamps_;
  const std::function<absl::Time()> now_;
  Mutex mutex_;
  uint64_t asked_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<PeriodicTask> task_;  // destroyed first
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_RESERVE_H_
