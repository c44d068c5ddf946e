// The calls that wait for a disk: for an audit record or for the call store.
#ifndef STAMPGATE_GATEWAY_CALLS_DISK_WAITS_H_
#define STAMPGATE_GATEWAY_CALLS_DISK_WAITS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/threads/mutex.h"

namespace stampgate {

// A disk can hang forever. A call that waits for such a disk would end at its deadline, and its caller would not learn
// why; and a process that must end cannot wait for the disk. So End and EndAll end the calls that wait. Thread-safe.
class DiskWaits {
 public:
  // What writes to a disk: each may have a disk of its own.
  enum class Writer { kAuditLog, kCallStore };

  template <typename T>
  using Done = absl::AnyInvocable<void(absl::StatusOr<T>)>;

  // Returns a callback for the disk's writer. The writer must call it at most once, and before this object is
  // destroyed. The callback passes the writer's result to `done`. If End or EndAll has called `done`, the callback
  // passes a successful result to `late`, not to `done`, and drops an error. `late` undoes what was written, and must
  // not use the call.
  template <typename T>
  Done<T> Guard(Writer writer, Done<T> done, absl::AnyInvocable<void(T)> late) {
    auto shared = std::make_shared<Done<T>>(std::move(done));
    const uint64_t id = Add(writer, [shared](const absl::Status& status) { std::exchange(*shared, nullptr)(status); });
    return [this, id, shared, late = std::move(late)](absl::StatusOr<T> answer) mutable {
      if (Remove(id)) return (*shared)(std::move(answer));
      if (answer.ok()) late(*std::move(answer));
    };
  }

  // Ends the calls that wait for `writer` with UNAVAILABLE, on this thread, because its disk hangs.
  void End(Writer writer) {
    EndThose([writer](Writer other) { return other == writer; }, absl::UnavailableError("the disk does not answer"));
  }

  // Ends every waiting call with UNAVAILABLE, on this thread, because the process ends.
  void EndAll() {
    EndThose([](Writer) { return true; }, absl::UnavailableError("the process ends before the disk has responded"));
  }

 private:
  using OnEnd = absl::AnyInvocable<void(const absl::Status&)>;
  struct Waiting {
    Writer writer;
    OnEnd end;
  };

  uint64_t Add(Writer writer, OnEnd end) {
    MutexLock lock(mutex_);
    waiting_.emplace(++last_id_, Waiting{writer, std::move(end)});
    return last_id_;
  }

  bool Remove(uint64_t id) {
    OnEnd end;  // destroyed after the lock is released
    MutexLock lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) return false;
    end = std::move(found->second.end);
    waiting_.erase(found);
    return true;
  }

  template <typename Select>
  void EndThose(Select select, const absl::Status& why) {
    std::vector<OnEnd> ends;
    {
      MutexLock lock(mutex_);
      absl::erase_if(waiting_, [&](auto& entry) {
        if (!select(entry.second.writer)) return false;
        ends.push_back(std::move(entry.second.end));
        return true;
      });
    }
    for (OnEnd& end : ends) end(why);
  }

  Mutex mutex_;
  absl::flat_hash_map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stampgate

#endif  // STAMPGATE_GATEWAY_CALLS_DISK_WAITS_H_
