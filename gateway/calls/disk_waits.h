// The calls that wait for a disk: for an audit record or for the call store.
#ifndef STAMPGATE_GATEWAY_CALLS_DISK_WAITS_H_
#define STAMPGATE_GATEWAY_CALLS_DISK_WAITS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace stampgate {

// A disk can hang forever, and a process that must end cannot wait for the disk. So EndAll ends the calls that wait for
// the disk. Thread-safe.
class DiskWaits {
 public:
  template <typename T>
  using Done = absl::AnyInvocable<void(absl::StatusOr<T>)>;

  // Returns a callback for the disk's writer. The writer must call it at most once, and before this object is
  // destroyed. The callback passes the writer's result to `done`. If EndAll has already called `done`, the callback
  // passes a successful result to `late`, not to `done`, and drops an error. `late` undoes what was written, and must
  // not use the call.
  template <typename T>
  Done<T> Guard(Done<T> done, absl::AnyInvocable<void(T)> late) {
    auto shared = std::make_shared<Done<T>>(std::move(done));
    const uint64_t id = Add([shared](const absl::Status& status) { std::exchange(*shared, nullptr)(status); });
    return [this, id, shared, late = std::move(late)](absl::StatusOr<T> answer) mutable {
      if (Remove(id)) return (*shared)(std::move(answer));
      if (answer.ok()) late(*std::move(answer));
    };
  }

  // Ends every waiting call with UNAVAILABLE, on this thread.
  void EndAll() {
    absl::flat_hash_map<uint64_t, End> waiting;
    {
      std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
    }
    for (auto& [id, end] : waiting) end(absl::UnavailableError("the process ends before the disk has responded"));
  }

 private:
  using End = absl::AnyInvocable<void(const absl::Status&)>;

  uint64_t Add(End end) {
    std::lock_guard lock(mutex_);
    waiting_.emplace(++last_id_, std::move(end));
    return last_id_;
  }

  bool Remove(uint64_t id) {
    End end;  // destroyed after the lock is released
    std::lock_guard lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return false;
    end = std::move(found->second);
    waiting_.erase(found);
    return true;
  }

  // A mutex of the standard library, because ThreadSanitizer understands it.
  std::mutex mutex_;
  absl::flat_hash_map<uint64_t, End> waiting_;
  uint64_t last_id_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_DISK_WAITS_H_
