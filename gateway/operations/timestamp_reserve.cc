#include "gateway/operations/timestamp_reserve.h"

#include <algorithm>
#include <future>
#include <utility>

namespace stampgate {

absl::StatusOr<std::unique_ptr<TimestampReserve>> TimestampReserve::Start(CallStore& store,
                                                                          TimestampAllocator& timestamps,
                                                                          bool is_shared,
                                                                          std::function<absl::Time()> now) {
  std::unique_ptr<TimestampReserve> mark(new TimestampReserve(store, timestamps, std::move(now)));
  // Before the first mark is on the disk, the allocator must not choose a value.
  timestamps.SetMark(0);
  std::promise<absl::Status> raised;
  mark->Raise([&raised](const absl::Status& status) { raised.set_value(status); });
  const absl::Status status = raised.get_future().get();
  if (!status.ok() && !(is_shared && absl::IsUnavailable(status))) return status;
  mark->task_ = std::make_unique<PeriodicTask>("timestamps", kInterval, [mark = mark.get()] {
    // If Raise fails, the next run of the task tries again. Until then, the allocator chooses only values below the
    // current mark.
    mark->Raise([](const absl::Status&) {});
  });
  return mark;
}

void TimestampReserve::Raise(std::function<void(const absl::Status&)> done) {
  const auto now_ms = static_cast<uint64_t>(std::max<int64_t>(absl::ToUnixMillis(now_()), 0));
  const uint64_t mark_ms =
      std::max(now_ms, timestamps_.next_ms()) + static_cast<uint64_t>(absl::ToInt64Milliseconds(kBlock));
  {
    MutexLock lock(mutex_);
    if (mark_ms <= asked_ms_) return done(absl::OkStatus());
    asked_ms_ = mark_ms;
  }
  store_.RaiseTimestamps(mark_ms, [&store = store_, &timestamps = timestamps_, mark_ms,
                                   done = std::move(done)](const absl::Status& status) {
    if (status.ok()) {
      const std::optional<TimestampLease> lease = store.timestamp_lease();
      if (lease.has_value()) timestamps.Adopt(*lease, store.timestamp_floor_ms());
      timestamps.SetMark(mark_ms);
    }
    done(status);
  });
}

}  // namespace stampgate
