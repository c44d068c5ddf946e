// Holds a value that one thread can replace while other threads use the former value.
#ifndef STAMPGATE_BASE_THREADS_CURRENT_H_
#define STAMPGATE_BASE_THREADS_CURRENT_H_

#include <memory>
#include <utility>

#include "base/threads/mutex.h"

namespace stampgate {

// A holder of a replaceable value. Thread-safe. A former value lives until its last user has released it.
template <typename T>
class Current {
 public:
  explicit Current(std::shared_ptr<T> value = nullptr) : value_(std::move(value)) {}

  std::shared_ptr<T> Get() const {
    const MutexLock lock(mutex_);
    return value_;
  }

  void Set(std::shared_ptr<T> value) {
    {
      const MutexLock lock(mutex_);
      value_.swap(value);
    }
    // If nothing else uses the former value, it is destroyed here, after the lock was released.
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace stampgate

#endif  // STAMPGATE_BASE_THREADS_CURRENT_H_
