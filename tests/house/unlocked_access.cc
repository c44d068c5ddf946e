// A fault that tests/lint must find: a member is used without the lock that guards it. Nothing builds this file.
#include "base/threads/mutex.h"

namespace stampgate {

class UnlockedCounter {
 public:
  void Add() { ++count_; }

 private:
  Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace stampgate
