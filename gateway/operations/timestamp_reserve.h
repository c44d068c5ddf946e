// A reserve of timestamps, which the call store keeps for this process, so that no later process chooses them.
#ifndef STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_RESERVE_H_
#define STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_RESERVE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gateway/operations/timestamp_allocator.h"
#include "gateway/process/periodic_task.h"
#include "gateway/store/call_store.h"

namespace stampgate {

// Raises the mark of the allocator in blocks, before values reach it, so that no submit waits for the disk because of
// it. Thread-safe.
class TimestampReserve {
 public:
  // How far ahead of the clock the mark is set.
  static constexpr absl::Duration kBlock = absl::Seconds(10);
  // How often it is raised.
  static constexpr absl::Duration kInterval = absl::Seconds(3);

  // Raises the mark for the first time and waits for the disk. `store` and `timestamps` outlive the store's Close.
  // Errors: those of CallStore::RaiseTimestamps.
  static absl::StatusOr<std::unique_ptr<TimestampReserve>> Start(CallStore& store, TimestampAllocator& timestamps,
                                                                 std::function<absl::Time()> now);

  TimestampReserve(const TimestampReserve&) = delete;
  TimestampReserve& operator=(const TimestampReserve&) = delete;

  // Raises the mark if it is less than kBlock ahead. Does not wait: calls `done`, perhaps on the store's thread, when
  // the mark was raised or the store could not write it.
  void Raise(std::function<void(const absl::Status&)> done);

 private:
  TimestampReserve(CallStore& store, TimestampAllocator& timestamps, std::function<absl::Time()> now)
      : store_(store), timestamps_(timestamps), now_(std::move(now)) {}

  CallStore& store_;
  TimestampAllocator& timestamps_;
  const std::function<absl::Time()> now_;
  std::mutex mutex_;
  uint64_t asked_ms_ = 0;
  std::unique_ptr<PeriodicTask> task_;  // destroyed first
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_OPERATIONS_TIMESTAMP_RESERVE_H_
