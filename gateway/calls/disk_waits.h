// The calls that wait for a disk: for the audit's record or for the call store.
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

// A disk may hang for ever, and a process that ends cannot wait for it: EndAll answers these calls in its place.
// Thread-safe.
class DiskWaits {
 public:
  template <typename T>
  using Done = absl::AnyInvocable<void(absl::StatusOr<T>)>;

  // Returns the callback for the disk's writer, which is called at most once and before this is destroyed. It passes
  // the writer's answer to `done`, unless EndAll has called `done` already: then it passes what the writer has written
  // to `late`, which undoes it. `late` must need nothing of the call.
  template <typename T>
  Done<T> Guard(Done<T> done, absl::AnyInvocable<void(T)> late) {
    auto shared = std::make_shared<Done<T>>(std::move(done));
    const uint64_t id = Add([shared](const absl::Status& status) { std::exchange(*shared, nullptr)(status); });
    return [this, id, shared, late = std::move(late)](absl::StatusOr<T> answer) mutable {
      if (Remove(id)) return (*shared)(std::move(answer));
      if (answer.ok()) late(*std::move(answer));
    };
  }

  // Answers every call that waits now with UNAVAILABLE, on this thread.
  void EndAll() {
    absl::flat_hash_map<uint64_t, End> waiting;
    {
      std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
    }
    for (auto& [id, end] : waiting) end(absl::UnavailableError("the process ends before the disk has answered"));
  }

 private:
  using End = absl::AnyInvocable<void(const absl::Status&)>;

  uint64_t Add(End end) {
    std::lock_guard lock(mutex_);
    waiting_.emplace(++last_id_, std::move(end));
    return last_id_;
  }

  bool Remove(uint64_t id) {
    End end;  // destroyed without the lock
    std::lock_guard lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return false;
    end = std::move(found->second);
    waiting_.erase(found);
    return true;
  }

  // Of the standard library, so that the thread sanitizer sees it.
  std::mutex mutex_;
  absl::flat_hash_map<uint64_t, End> waiting_;
  uint64_t last_id_ = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_DISK_WAITS_H_
